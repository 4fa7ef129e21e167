"""Deleting a namespace in the admin: Django's confirmation page, then
documents/accounts/namespace_removal.py, at once or in the background."""

from collections.abc import Iterable
from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest

from documents.accounts import keys, namespace_removal
from documents.models import Namespace, NamespaceRemoval, OperatorKey
from ragsite.platform.wording import plural

from .confirmation import confirm_first
from .readonly import ReadOnlyAdmin


class NamespaceDeletion:
    """Mixed into the namespaces' ModelAdmin. Django itself would load every row to show it."""

    def get_deleted_objects(
        self, objs: Iterable[Namespace], request: HttpRequest
    ) -> tuple[list[str], dict[str, int], set[str], list[str]]:
        found = list(objs)
        documents = [namespace.documents.count() for namespace in found]
        shown = [
            f"Namespace {namespace.slug}: {plural(count, 'document')}, "
            f"{plural(namespace.chunk_count, 'chunk')}, "
            "its keys, facts, golden sets, feedback and query log"
            for namespace, count in zip(found, documents, strict=True)
        ]
        counts = {
            "namespaces": len(found),
            "documents": sum(documents),
            "chunks": sum(namespace.chunk_count for namespace in found),
        }
        return shown, counts, set(), []

    def delete_model(self, request: HttpRequest, obj: Namespace) -> None:
        removal = namespace_removal.remove_namespace(obj)
        if removal.state == NamespaceRemoval.State.FINISHED:
            rows = sum(removal.rows.values())
            removed = f"{plural(rows, 'row')} and {plural(removal.files, 'file')}"
            note = f"{removal.slug}: {removed} removed."
        else:
            note = f"{removal.slug} is closed and being removed in the background."
        messages.info(request, note)

    def log_deletions(self, request: HttpRequest, queryset: QuerySet[Namespace]) -> Any:
        """Into Django's own log only: the audit log has it from namespace_removal."""
        return admin.ModelAdmin.log_deletions(self, request, queryset)  # type: ignore[arg-type]

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Namespace]) -> None:
        for namespace in queryset:
            self.delete_model(request, namespace)


@admin.register(NamespaceRemoval)
class NamespaceRemovalAdmin(ReadOnlyAdmin):
    list_display = ("slug", "state", "requested_by", "created_at", "finished_at", "files")
    list_filter = ("state",)
    search_fields = ("slug",)


@admin.register(OperatorKey)
class OperatorKeyAdmin(ReadOnlyAdmin):
    """Made by `manage.py api_key create --scopes operator`; here they are seen and revoked."""

    list_display = ("shown", "name", "last_used_at", "expires_at", "active")
    search_fields = ("name", "prefix")
    exclude = ("secret_sha256",)
    actions = ("revoke",)

    @admin.display(description="key")
    def shown(self, key: OperatorKey) -> str:
        return f"rsop_{key.prefix}_…"

    @admin.display(boolean=True)
    def active(self, key: OperatorKey) -> bool:
        return key.is_active

    @admin.action(description="Revoke", permissions=["operate"])
    @confirm_first(
        "Revoke {rows}?",
        noun="operator key",
        consequence="Their clients are refused from then on. This cannot be undone.",
    )
    def revoke(self, request: HttpRequest, queryset: QuerySet[OperatorKey]) -> None:
        self.message_user(request, f"{plural(keys.revoke_operator_keys(queryset), 'key')} revoked.")
