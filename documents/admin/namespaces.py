"""Namespaces and keys: the only rows operators make by hand."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.http import HttpRequest
from django.utils.html import format_html

from documents import keys
from documents.models import ApiKey, Namespace


@admin.register(Namespace)
class NamespaceAdmin(admin.ModelAdmin):
    list_display = ("slug", "name", "active_profile", "chunk_count", "created_at")
    search_fields = ("slug", "name")
    readonly_fields = ("active_profile", "revision", "chunk_count", "created_at")

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False  # its documents have files: delete those first, one by one, with receipts


class ApiKeyForm(forms.ModelForm):
    scopes = forms.MultipleChoiceField(
        choices=ApiKey.Scope.choices,
        widget=forms.CheckboxSelectMultiple,
        initial=["read", "write"],
    )

    class Meta:
        model = ApiKey
        fields = ("namespace", "name", "scopes", "expires_at")


@admin.register(ApiKey)
class ApiKeyAdmin(admin.ModelAdmin):
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

    def save_model(self, request: HttpRequest, obj: ApiKey, form: Any, change: bool) -> None:
        fields = form.cleaned_data
        issued, plain = keys.issue(
            fields["namespace"],
            scopes=fields["scopes"],
            name=fields["name"],
            expires_at=fields["expires_at"],
        )
        obj.pk = issued.pk
        obj.prefix = issued.prefix
        sentence = "Copy the key now, it cannot be shown again: <code>{}</code>"
        messages.warning(request, format_html(sentence, plain))

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False  # revoke instead: the record of who had access stays

    def has_operate_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("documents.change_apikey")

    @admin.action(description="Revoke", permissions=["operate"])
    def revoke(self, request: HttpRequest, queryset: Any) -> None:
        self.message_user(request, f"{keys.revoke(queryset)} keys revoked.")
