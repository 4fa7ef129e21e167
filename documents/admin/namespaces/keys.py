"""Keys of namespaces and of operators: shown once, revoked after a confirmation, never deleted."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from documents.accounts import keys
from documents.admin.audited import Audited
from documents.admin.confirmation import confirm_first
from documents.admin.readonly import ReadOnlyAdmin
from documents.models import ApiKey, Namespace, OperatorKey
from ragsite.platform.wording import plural
from ragsite.web.markup import toned_badge, when

# Fields of an existing key that never change.
FIXED_FIELDS = (
    "shown",
    "status",
    "namespace",
    "name",
    "scopes",
    "created_at",
    "expires_at",
    "revoked_at",
    "used",
)
SHOWN_ONCE = (
    'Copy the key now, it cannot be shown again: <code id="new-key">{}</code> '
    '<button type="button" class="copy" data-copy="new-key">Copy</button>'
)


class ApiKeyLimitsForm(forms.ModelForm):
    """The only field of an existing key that can be changed."""

    class Meta:
        model = ApiKey
        fields: tuple[str, ...] = ("limits",)

    def clean_limits(self) -> dict[str, int]:
        return self.cleaned_data["limits"] or {}


class ApiKeyForm(ApiKeyLimitsForm):
    scopes = forms.MultipleChoiceField(
        choices=ApiKey.Scope.choices,
        widget=forms.CheckboxSelectMultiple,
        initial=["read", "write"],
    )

    class Meta(ApiKeyLimitsForm.Meta):
        fields = ("namespace", "name", "scopes", "expires_at", "limits")

    def clean_namespace(self) -> Namespace:
        namespace: Namespace = self.cleaned_data["namespace"]
        if namespace.deleting_since is not None:
            raise forms.ValidationError("This namespace is being deleted.")
        return namespace


class StatusFilter(admin.SimpleListFilter):
    title = "status"
    parameter_name = "status"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("active", "Active"), ("expired", "Expired"), ("revoked", "Revoked")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        expired = Q(expires_at__lte=timezone.now(), revoked_at=None)
        if self.value() == "active":
            return queryset.filter(~Q(expires_at__lte=timezone.now()), revoked_at=None)
        if self.value() == "expired":
            return queryset.filter(expired)
        return queryset.exclude(revoked_at=None) if self.value() == "revoked" else queryset


class ShowsStatus:
    """Mixed into a ModelAdmin of keys: badges, and relative times."""

    @admin.display(description="status")
    def status(self, key: Any) -> SafeString:
        if key.revoked_at is not None:
            return toned_badge("bad", "revoked")
        return toned_badge("good", "active") if key.is_active else toned_badge("quiet", "expired")

    @admin.display(description="last used", ordering="last_used_at")
    def used(self, key: Any) -> SafeString | str:
        return when(key.last_used_at) if key.last_used_at else "never"

    @admin.display(description="expires", ordering="expires_at")
    def expires(self, key: Any) -> SafeString | str:
        return when(key.expires_at) if key.expires_at else "never"


@admin.register(ApiKey)
class ApiKeyAdmin(ShowsStatus, Audited, admin.ModelAdmin):
    audits_additions = False  # keys.issue does it
    form = ApiKeyForm
    list_display = ("shown", "name", "status", "namespace", "may", "used", "expires")
    list_filter = (StatusFilter, "namespace")
    list_select_related = ("namespace",)
    search_fields = ("name", "prefix")
    search_help_text = "Name or prefix"
    actions = ("revoke",)
    change_form_template = "admin/namespaces/key.html"

    class Media:
        js = ("admin_kit/copy.js",)

    @admin.display(description="key", ordering="prefix")
    def shown(self, key: ApiKey) -> str:
        return f"rs_{key.prefix}_…"

    @admin.display(description="may", ordering="scopes")
    def may(self, key: ApiKey) -> str:
        return ", ".join(key.scopes)

    def get_form(
        self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any
    ) -> Any:
        kwargs["form"] = ApiKeyForm if obj is None else ApiKeyLimitsForm
        return super().get_form(request, obj, change, **kwargs)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return () if obj is None else FIXED_FIELDS

    def get_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return ApiKeyForm.Meta.fields if obj is None else (*FIXED_FIELDS, "limits")

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        context["may_operate"] = self.has_operate_permission(request)
        return super().render_change_form(request, context, *args, **kwargs)

    def save_model(self, request: HttpRequest, obj: ApiKey, form: Any, change: bool) -> None:
        fields = form.cleaned_data
        if change:
            obj.save(update_fields=["limits"])
            return
        issued, plain = keys.issue(
            fields["namespace"],
            scopes=fields["scopes"],
            name=fields["name"],
            expires_at=fields["expires_at"],
            limits=fields["limits"],
        )
        obj.pk = issued.pk
        obj.prefix = issued.prefix
        messages.warning(request, format_html(SHOWN_ONCE, plain))

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False  # revoke it instead, so that there is a record of all access

    def has_operate_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("documents.change_apikey")

    @admin.action(description="Revoke", permissions=["operate"])
    @confirm_first(
        "Revoke {rows}?",
        noun="API key",
        consequence="Their clients are refused from then on. This cannot be undone.",
    )
    def revoke(self, request: HttpRequest, queryset: Any) -> None:
        self.message_user(request, f"{plural(keys.revoke(queryset), 'key')} revoked.")


@admin.register(OperatorKey)
class OperatorKeyAdmin(ShowsStatus, ReadOnlyAdmin):
    """Created by `manage.py api_key create --scopes operator`; the admin lists and revokes them."""

    list_display = ("shown", "name", "status", "used", "expires")
    list_filter = (StatusFilter,)
    search_fields = ("name", "prefix")
    search_help_text = "Name or prefix"
    exclude = ("secret_sha256",)
    actions = ("revoke",)

    @admin.display(description="key", ordering="prefix")
    def shown(self, key: OperatorKey) -> str:
        return f"rsop_{key.prefix}_…"

    @admin.action(description="Revoke", permissions=["operate"])
    @confirm_first(
        "Revoke {rows}?",
        noun="operator key",
        consequence="Their clients are refused from then on. This cannot be undone.",
    )
    def revoke(self, request: HttpRequest, queryset: QuerySet[OperatorKey]) -> None:
        self.message_user(request, f"{plural(keys.revoke_operator_keys(queryset), 'key')} revoked.")
