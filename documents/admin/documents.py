"""Documents, their versions and their chunks."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from documents import intake, removal
from documents.models import Chunk, Document, DocumentVersion

from .readonly import LookOnly, LookOnlyAdmin


class VersionInline(LookOnly, admin.TabularInline):
    model = DocumentVersion
    fields = ("number", "state", "media_type", "byte_size", "created_at", "published_at")
    readonly_fields = fields

    def get_queryset(self, request: HttpRequest) -> QuerySet[DocumentVersion]:
        return super().get_queryset(request).defer("text", "outline")


@admin.register(Document)
class DocumentAdmin(LookOnlyAdmin):
    list_display = (
        "shown_title",
        "namespace",
        "status",
        "error_code",
        "version",
        "chunks",
        "updated_at",
    )
    list_filter = ("status", "namespace", "source_type", "error_code")
    list_select_related = ("namespace",)
    search_fields = ("title", "source_uri", "=id")
    actions = ("index_again", "remove")
    inlines = (VersionInline,)
    readonly_fields = ("chunks_link",)

    @admin.display(description="document", ordering="title")
    def shown_title(self, document: Document) -> str:
        return str(document)[:80]

    @admin.display(ordering="document_version")
    def version(self, document: Document) -> int:
        return document.document_version

    @admin.display(ordering="chunks_count")
    def chunks(self, document: Document) -> int:
        return document.chunks_count

    @admin.display(description="chunks")
    def chunks_link(self, document: Document) -> SafeString:
        address = f"../../../chunk/?document__id__exact={document.pk}"
        return format_html('<a href="{}">{} chunks</a>', address, document.chunks_count)

    @admin.action(description="Index again", permissions=["operate"])
    def index_again(self, request: HttpRequest, queryset: QuerySet[Document]) -> None:
        for document in queryset:
            intake.resubmit(document.namespace_id, document.pk)
        self.message_user(request, f"{len(queryset)} documents queued.", messages.SUCCESS)

    @admin.action(description="Delete, with chunks and stored files", permissions=["operate"])
    def remove(self, request: HttpRequest, queryset: QuerySet[Document]) -> None:
        receipts = [removal.remove(document.namespace_id, document.pk) for document in queryset]
        chunks = sum(receipt.chunks for receipt in receipts)
        files = sum(receipt.files for receipt in receipts)
        done = f"{len(receipts)} documents removed, with {chunks} chunks and {files} files."
        self.message_user(request, done, messages.SUCCESS)


@admin.register(Chunk)
class ChunkAdmin(LookOnlyAdmin):
    list_display = ("document", "ordinal", "kind", "section", "tokens", "beginning")
    list_filter = ("kind", "namespace", "profile")
    list_select_related = ("document",)
    search_fields = ("content",)
    exclude = ("embedding",)
    show_full_result_count = False

    def get_queryset(self, request: HttpRequest) -> QuerySet[Chunk]:
        return super().get_queryset(request).defer("embedding")

    def lookup_allowed(self, lookup: str, value: Any, request: Any = None) -> bool:
        return lookup == "document__id__exact" or super().lookup_allowed(lookup, value, request)

    @admin.display(description="content")
    def beginning(self, chunk: Chunk) -> str:
        return chunk.content[:120]
