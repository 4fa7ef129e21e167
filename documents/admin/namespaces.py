"""Namespaces and keys: the only rows operators make by hand."""

from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.db.models import Field
from django.http import HttpRequest
from django.utils.html import format_html

from documents.accounts import keys, quotas
from documents.models import ApiKey, Namespace
from ragsite.platform.wording import plural

from .audited import Audited
from .confirmation import confirm_first
from .namespace_deletion import NamespaceDeletion


@admin.register(Namespace)
class NamespaceAdmin(NamespaceDeletion, Audited, admin.ModelAdmin):
    list_display = ("slug", "name", "active_profile", "chunk_count", "created_at")
    fieldsets = (
        (None, {"fields": ("slug", "name", "language")}),
        (
            "Answers",
            {
                "fields": (
                    "answer_model",
                    "answer_prompt",
                    "answer_language",
                    "answer_min_relevance",
                )
            },
        ),
        ("Quotas", {"fields": ("max_documents", "max_bytes", "max_chunks", "holds")}),
        (
            "State",
            {
                "fields": (
                    "active_profile",
                    "revision",
                    "chunk_count",
                    "created_at",
                    "deleting_since",
                )
            },
        ),
    )
    search_fields = ("slug", "name")
    readonly_fields = (
        "holds",
        "active_profile",
        "revision",
        "chunk_count",
        "created_at",
        "deleting_since",
    )

    def formfield_for_dbfield(self, db_field: Field, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "answer_model":
            names = sorted(settings.LANGUAGE_MODELS)
            choices = [("", "(the installation's default)"), *((name, name) for name in names)]
            return forms.ChoiceField(choices=choices, required=False, help_text=db_field.help_text)
        return super().formfield_for_dbfield(db_field, request, **kwargs)

    @admin.display(description="usage")
    def holds(self, tenant: Namespace) -> str:
        if tenant.created_at is None:  # the form of a new one
            return "–"
        return ", ".join(
            f"{usage.used:,} {name}" + (f" of {usage.quota:,}" if usage.quota else "")
            for name, usage in quotas.usage_of(tenant.pk).items()
        )


# Fields of an existing key that never change.
FIXED_FIELDS = (
    "shown",
    "namespace",
    "name",
    "scopes",
    "created_at",
    "expires_at",
    "revoked_at",
    "last_used_at",
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


@admin.register(ApiKey)
class ApiKeyAdmin(Audited, admin.ModelAdmin):
    audits_additions = False  # keys.issue does
    form = ApiKeyForm
    list_display = ("shown", "namespace", "name", "scopes", "last_used_at", "expires_at", "active")
    list_filter = ("namespace",)
    list_select_related = ("namespace",)
    search_fields = ("name", "prefix")
    actions = ("revoke",)

    @admin.display(description="key")
    def shown(self, key: ApiKey) -> str:
        return f"rs_{key.prefix}_…"

    @admin.display(boolean=True)
    def active(self, key: ApiKey) -> bool:
        return key.is_active

    def get_form(
        self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any
    ) -> Any:
        kwargs["form"] = ApiKeyForm if obj is None else ApiKeyLimitsForm
        return super().get_form(request, obj, change, **kwargs)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return () if obj is None else FIXED_FIELDS

    def get_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return ApiKeyForm.Meta.fields if obj is None else (*FIXED_FIELDS, "limits")

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
        sentence = "Copy the key now, it cannot be shown again: <code>{}</code>"
        messages.warning(request, format_html(sentence, plain))

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False  # revoke instead: the record of who had access stays

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
