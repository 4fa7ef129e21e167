"""Documents, their versions and their chunks."""

import uuid
from collections import defaultdict
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from documents.accounts import audit
from documents.ingestion import bulk_removal
from documents.intake import intake
from documents.models import Chunk, Document, DocumentVersion
from ragsite.platform.wording import plural

from .confirmation import confirm_first, confirmation_page, fingerprint_of
from .readonly import ReadOnly, ReadOnlyAdmin

QUESTION = "Delete {rows}?"
CONSEQUENCE = (
    "Their versions, chunks, facts, jobs and stored files are deleted with them. This cannot be "
    "undone. The workers do it in the background."
)


class VersionInline(ReadOnly, admin.TabularInline):
    model = DocumentVersion
    fields = ("number", "state", "media_type", "byte_size", "created_at", "published_at")
    readonly_fields = fields

    def get_queryset(self, request: HttpRequest) -> QuerySet[DocumentVersion]:
        return super().get_queryset(request).defer("text", "outline")


@admin.register(Document)
class DocumentAdmin(ReadOnlyAdmin):
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
    readonly_fields = ("chunks_link", "delete_link")

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
        for namespace_id, ids in _by_namespace(queryset).items():
            audit.record("document.reindex", namespace=namespace_id, count=len(ids))
        self.message_user(request, f"{plural(len(queryset), 'document')} queued.", messages.SUCCESS)

    @admin.display(description="delete")
    def delete_link(self, document: Document) -> SafeString:
        address = reverse("admin:documents_document_remove", args=[document.pk])
        return format_html('<a href="{}">Delete this document …</a>', address)

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        fields = super().get_fields(request, obj)
        may = self.has_operate_permission(request)
        return [name for name in fields if may or name != "delete_link"]

    @admin.action(description="Delete, with chunks and stored files", permissions=["operate"])
    @confirm_first(QUESTION, noun="document", consequence=CONSEQUENCE)
    def remove(self, request: HttpRequest, queryset: QuerySet[Document]) -> None:
        self._request_removal(request, queryset)

    def remove_view(self, request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
        """The same for one document, from its own page."""
        if not self.has_operate_permission(request):
            raise PermissionDenied
        queryset = self.get_queryset(request).filter(pk=pk)
        get_object_or_404(queryset)
        fingerprint = fingerprint_of("remove", [pk])
        if request.method == "POST" and request.POST.get("confirmed") == fingerprint:
            self._request_removal(request, queryset)
            return HttpResponseRedirect(reverse("admin:documents_document_changelist"))
        return confirmation_page(
            self,
            request,
            queryset,
            question=QUESTION,
            noun="document",
            consequence=CONSEQUENCE,
            fingerprint=fingerprint,
        )

    def _request_removal(self, request: HttpRequest, queryset: QuerySet[Document]) -> None:
        count = 0
        for namespace_id, ids in _by_namespace(queryset).items():
            count += bulk_removal.request(namespace_id, ids).total
        done = 'Deleting {}. <a href="{}">Show progress.</a>'
        address = reverse("admin:documents_documentremoval_changelist")
        self.message_user(
            request, format_html(done, plural(count, "document"), address), messages.SUCCESS
        )

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.remove_view)
        return [
            path("<uuid:pk>/remove/", view, name="documents_document_remove"),
            *super().get_urls(),
        ]


def _by_namespace(queryset: QuerySet[Document]) -> dict[uuid.UUID, list[uuid.UUID]]:
    found: dict[uuid.UUID, list[uuid.UUID]] = defaultdict(list)
    for namespace_id, pk in queryset.order_by("pk").values_list("namespace_id", "pk"):
        found[namespace_id].append(pk)
    return found


@admin.register(Chunk)
class ChunkAdmin(ReadOnlyAdmin):
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
