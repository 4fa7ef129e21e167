"""Deletions of many documents: their progress, and what was deleted with them."""

from django.contrib import admin
from django.utils.html import format_html
from django.utils.safestring import SafeString

from documents.models import DocumentRemoval

from ..readonly import ReadOnlyAdmin


@admin.register(DocumentRemoval)
class DocumentRemovalAdmin(ReadOnlyAdmin):
    list_display = (
        "created_at",
        "namespace",
        "state",
        "progress",
        "chunks",
        "files",
        "files_left",
        "failed",
        "actor",
        "finished_at",
    )
    list_filter = ("state", "namespace")
    list_select_related = ("namespace",)
    row_noun = "deletion"
    when_empty = "Deleting many documents at once leaves a receipt here."
    search_fields = ("=id", "actor")
    search_help_text = "Exact id, or who asked for it"
    exclude = ("document_ids", "lease_token", "lease_until")

    @admin.display
    def progress(self, removal: DocumentRemoval) -> SafeString:
        bar = '<progress max="{}" value="{}"></progress> {} of {} deleted'
        done = removal.total - len(removal.document_ids)
        return format_html(bar, removal.total or 1, done, removal.removed, removal.total)
