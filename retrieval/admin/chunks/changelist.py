"""The list of chunks, named by document and section."""

import uuid
from typing import Any

from django.contrib import admin
from django.contrib.postgres.search import SearchQuery
from django.db.models import Q, QuerySet
from django.db.models.functions import Left
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from documents.admin.parameters import uuid_or_404
from documents.admin.visible import only_visible
from documents.models import Chunk, TermStatistics
from documents.models.terms import ChunkTerms
from documents.text.lexemes import prepare
from ragsite.platform.wording import plural

from .page import ChunkPages

BEGINNING = 160  # characters of the content in the list
FOUND = 1000  # maximum number of chunks that a search for words shows
NAMESPACES = 100  # whose languages are considered


@admin.register(Chunk)
class ChunkAdmin(ChunkPages):
    list_display = ("passage", "beginning", "namespace", "profile")
    list_display_links = None
    list_filter = ("kind", "namespace", "profile")
    list_select_related = ("document", "namespace", "profile")
    list_per_page = 50
    # By id, which has an index: any other order would sort every chunk.
    ordering = ("id",)
    sortable_by = ()
    search_fields = ("content",)
    search_help_text = "Words of a chunk, or its id"
    change_list_template = "admin/chunks/list.html"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Chunk]:
        """Load rows without vectors, and with only the beginning of the content."""
        chunks = (
            super()
            .get_queryset(request)
            .defer(
                "embedding",
                "content",
                "metadata",
                "document__metadata",
                "document__given",
            )
        )
        return chunks.annotate(content_beginning=Left("content", BEGINNING))

    def get_ordering(self, request: HttpRequest) -> tuple[str, ...]:
        if "document__id__exact" in request.GET:
            return ("profile", "ordinal", "id")
        return ("id",)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Chunk], search_term: str
    ) -> tuple[QuerySet[Chunk], bool]:
        words = search_term.replace("\0", "").strip()
        if not words:
            return queryset, False
        try:
            return queryset.filter(pk=uuid.UUID(words)), False
        except ValueError:
            return queryset.filter(pk__in=_with_words(request, words)), False

    def lookup_allowed(self, lookup: str, value: Any, request: Any = None) -> bool:
        return lookup == "document__id__exact" or super().lookup_allowed(lookup, value, request)

    @admin.display(description="chunk")
    def passage(self, chunk: Chunk) -> SafeString:
        return format_html(
            '<a class="doc-title" href="{}">{}</a>'
            '<small class="doc-source">{}</small><small class="doc-source">{}</small>',
            reverse("admin:documents_chunk_change", args=[chunk.pk]),
            str(chunk.document)[:120],
            chunk.section[:160] or "no section",
            f"chunk {chunk.ordinal}, {chunk.kind}, {plural(chunk.tokens, 'token')}{_pages(chunk)}",
        )

    @admin.display(description="content")
    def beginning(self, chunk: Any) -> str:
        beginning = str(chunk.content_beginning)
        return f"{beginning}…" if len(beginning) == BEGINNING else beginning


def _with_words(request: HttpRequest, words: str) -> QuerySet[Any]:
    """Return the ids of chunks with all of these words in any indexed language, by the index that
    searches use."""
    terms = only_visible(request, ChunkTerms.objects.all())
    statistics = TermStatistics.objects.all()
    if chosen := request.GET.get("namespace__id__exact"):
        namespace_id = uuid_or_404(chosen)
        terms, statistics = (rows.filter(namespace=namespace_id) for rows in (terms, statistics))
    counted = statistics.values_list("configurations", flat=True)[:NAMESPACES]
    running, matches = prepare(words).running, Q()
    for configuration in sorted({"simple", "english"}.union(*counted)):
        matches |= Q(search_vector=SearchQuery(running, config=configuration))
    return terms.filter(matches).order_by().values("pk")[:FOUND]


def _pages(chunk: Chunk) -> str:
    if chunk.page_start is None:
        return ""
    last = chunk.page_end or chunk.page_start
    if last == chunk.page_start:
        return f", page {chunk.page_start}"
    return f", pages {chunk.page_start} to {last}"
