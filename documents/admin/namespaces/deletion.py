"""Deleting a namespace in the admin: Django's confirmation page, then
documents/accounts/namespace_removal.py, at once or in the background."""

from collections.abc import Iterable
from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from documents.accounts import namespace_removal
from documents.admin.readonly import ReadOnlyAdmin
from documents.models import Namespace, NamespaceRemoval
from ragsite.platform.wording import plural
from ragsite.web.markup import badge, when


class NamespaceDeletion:
    """Mixed into the namespaces' ModelAdmin. Django itself would load every row to show it."""

    def get_deleted_objects(
        self, objs: Iterable[Namespace], request: HttpRequest
    ) -> tuple[list[str], dict[str, Any], set[str], list[str]]:
        found = list(objs)
        documents = [namespace.documents.count() for namespace in found]
        shown = [
            f"Namespace {namespace.slug}: {plural(count, 'document')}, "
            f"{plural(namespace.chunk_count, 'chunk')}, "
            "its keys, facts, golden sets, feedback and query log"
            for namespace, count in zip(found, documents, strict=True)
        ]
        counts = {
            "namespaces": f"{len(found):,}",
            "documents": f"{sum(documents):,}",
            "chunks": f"{sum(namespace.chunk_count for namespace in found):,}",
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
        receipt = reverse("admin:documents_namespaceremoval_change", args=[removal.pk])
        link = format_html('{} <a href="{}">Receipt</a>', note, receipt)
        messages.success(request, link)

    def log_deletions(self, request: HttpRequest, queryset: QuerySet[Namespace]) -> Any:
        """Write to Django's own log only: namespace_removal has written to the audit log."""
        return admin.ModelAdmin.log_deletions(self, request, queryset)  # type: ignore[arg-type]

    def response_delete(self, request: HttpRequest, obj_display: str, obj_id: Any) -> HttpResponse:
        """Continue with the receipt, which also shows the progress of a deletion in the
        background."""
        removal = NamespaceRemoval.objects.get(removed_namespace=obj_id)
        receipt = reverse("admin:documents_namespaceremoval_change", args=[removal.pk])
        return HttpResponseRedirect(receipt)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Namespace]) -> None:
        for namespace in queryset:
            self.delete_model(request, namespace)


@admin.register(NamespaceRemoval)
class NamespaceRemovalAdmin(ReadOnlyAdmin):
    list_display = ("slug", "shown_state", "requested_by", "asked", "finished", "removed")
    list_filter = ("state",)
    when_empty = "Deleting a namespace leaves a receipt here."
    search_fields = ("slug", "=removed_namespace")
    search_help_text = "Slug, or the exact id of a namespace"
    fields = (
        "slug",
        "removed_namespace",
        "shown_state",
        "requested_by",
        "asked",
        "finished",
        "removed",
        "kinds",
        "files",
        "files_left",
    )
    readonly_fields = ("shown_state", "asked", "finished", "removed", "kinds")

    @admin.display(description="state", ordering="state")
    def shown_state(self, removal: NamespaceRemoval) -> SafeString:
        return badge(removal.state)

    @admin.display(description="asked for", ordering="created_at")
    def asked(self, removal: NamespaceRemoval) -> SafeString:
        return when(removal.created_at)

    @admin.display(description="finished", ordering="finished_at")
    def finished(self, removal: NamespaceRemoval) -> SafeString:
        return when(removal.finished_at)

    @admin.display(description="removed")
    def removed(self, removal: NamespaceRemoval) -> str:
        return f"{plural(sum(removal.rows.values()), 'row')}, {plural(removal.files, 'file')}"

    @admin.display(description="rows by kind")
    def kinds(self, removal: NamespaceRemoval) -> SafeString | str:
        rows = sorted(removal.rows.items(), key=lambda row: -row[1])
        counted = (
            (f"{count:,} {namespace_removal.in_words(kind, count)}",) for kind, count in rows
        )
        return format_html_join("", "<div>{}</div>", counted) or "none yet"
