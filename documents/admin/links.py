"""Public links of namespaces: made with an address that is shown once, and revoked."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from documents.accounts import links
from documents.models import Namespace, NamespaceLink
from ragsite.platform.wording import plural
from ragsite.web.markup import badge

from .audited import Audited
from .confirmation import confirm_first


class NamespaceLinkForm(forms.ModelForm):
    class Meta:
        model = NamespaceLink
        fields = ("namespace", "name", "expires_at")

    def clean_namespace(self) -> Namespace:
        namespace: Namespace = self.cleaned_data["namespace"]
        if namespace.deleting_since is not None:
            raise forms.ValidationError("This namespace is being deleted.")
        return namespace

    def clean_expires_at(self) -> Any:
        expires_at = self.cleaned_data["expires_at"]
        if expires_at is not None and expires_at <= timezone.now():
            raise forms.ValidationError("This moment has passed.")
        return expires_at


@admin.register(NamespaceLink)
class NamespaceLinkAdmin(Audited, admin.ModelAdmin):
    audits_additions = False  # links.create does it
    form = NamespaceLinkForm
    list_display = ("shown", "namespace", "name", "shown_state", "last_used_at", "expires_at")
    list_filter = ("namespace",)
    list_select_related = ("namespace",)
    search_fields = ("name", "prefix")
    search_help_text = "Name, or the beginning of a link"
    readonly_fields = ("shown", "shown_state", "created_at", "revoked_at", "last_used_at")
    actions = ("revoke",)
    change_form_template = "admin/namespaces/key.html"

    class Media:
        js = ("admin_kit/copy.js",)

    @admin.display(description="link")
    def shown(self, link: NamespaceLink) -> str:
        return f"/s/{link.prefix}_…"

    @admin.display(description="state")
    def shown_state(self, link: NamespaceLink) -> SafeString:
        return badge(link.state)

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        context["may_operate"] = self.has_operate_permission(request)
        return super().render_change_form(request, context, *args, **kwargs)

    def get_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        own = NamespaceLinkForm.Meta.fields
        return own if obj is None else ("shown", "shown_state", *own, *self.readonly_fields[2:])

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False  # visitors rely on it; revoke it and create another one instead

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False  # revoke it instead, so that there is a record of all access

    def has_operate_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("documents.change_namespacelink")

    def save_model(self, request: HttpRequest, obj: NamespaceLink, form: Any, change: bool) -> None:
        fields = form.cleaned_data
        made, address = links.create(
            fields["namespace"], name=fields["name"], expires_at=fields["expires_at"]
        )
        obj.pk, obj.prefix = made.pk, made.prefix
        if address.startswith("/"):
            address = request.build_absolute_uri(address)
        sentence = (
            "Copy the address now, it cannot be shown again. Anyone who has it can ask this "
            'namespace: <code id="new-link">{}</code> '
            '<button type="button" class="copy" data-copy="new-link">Copy</button>'
        )
        messages.warning(request, format_html(sentence, address))

    @admin.action(description="Revoke", permissions=["operate"])
    @confirm_first(
        "Revoke {rows}?",
        noun="public link",
        consequence="Their visitors are refused from then on. This cannot be undone.",
    )
    def revoke(self, request: HttpRequest, queryset: Any) -> None:
        self.message_user(request, f"{plural(links.revoke(queryset), 'link')} revoked.")
