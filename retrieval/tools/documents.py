"""Tools that find and read documents."""

import uuid
from collections.abc import Iterable
from typing import Any

from django.db.models import F, QuerySet
from django.db.models.functions import Length, Substr

from documents.api.serializers import DocumentSerializer
from documents.listing import InvalidCursor, documents_matching, named_like, page_of
from documents.models import Document, DocumentVersion
from ragsite.database.tenancy import namespace
from ragsite.platform.errors import ApiError
from retrieval.requests import Filters, SearchRequest, SearchResult
from retrieval.search import search

from .base import (
    Arguments,
    InvalidArguments,
    Result,
    Tool,
    ToolContext,
    identifier,
    not_found,
    object_schema,
    text,
    texts,
    whole_number,
)
from .filtering import TAG, TAGS
from .rag import MAX_QUERY

MAX_TEXT = 20_000  # characters of a document's text in one result
MAX_PAGE = 100
MIN_RELEVANCE = 0.1  # of a passage, for its document to be about the question (docs/search.md)
MAX_POSITION = 2**31 - 1

# Fields of a document in lists; get_document returns all.
LISTED = (
    "id",
    "title",
    "source_uri",
    "source_type",
    "status",
    "error",
    "tags",
    "language",
    "dated_at",
    "chunks_count",
    "created_at",
    "updated_at",
)

_STATUS = {
    "type": "string",
    "enum": list(Document.Status.values),
    "description": "Only documents in this state; ready ones can be searched.",
}
_COLLECTION = text("Only documents in this collection, by name or id.", max_length=256)
_TAGS = texts("Only documents that have all of these tags.", max_length=TAG, max_items=TAGS)
_SOURCE_TYPE = text("Only files of this kind, e.g. pdf, md, html.", max_length=20)


def find_document(document_id: str) -> Document:
    """Find a document. Inside namespace(). Raises ApiError."""
    document = Document.objects.filter(pk=uuid.UUID(document_id)).first()
    if document is None:
        raise not_found("document")
    return document


def _listed(document: Document) -> dict[str, Any]:
    shown = DocumentSerializer(document).data
    return {name: shown[name] for name in LISTED}


# -- list_documents ----------------------------------------------------------------------


def _matching(arguments: Arguments) -> QuerySet[Document]:
    return documents_matching(
        status=arguments.get("status"),
        source_type=arguments.get("source_type"),
        source_uri=arguments.get("source_uri"),
        tags=arguments.get("tags", ()),
        collection=arguments.get("collection"),
    )


def _list(context: ToolContext, arguments: Arguments) -> Result:
    with namespace(context.namespace_id):
        try:
            page = page_of(
                _matching(arguments), limit=arguments["limit"], cursor=arguments.get("cursor")
            )
        except InvalidCursor:
            message = "take it from next_cursor of a page, or leave it out for the first page"
            raise InvalidArguments([("cursor", message)]) from None
        documents = [_listed(document) for document in page.documents]
    return {"documents": documents, "next_cursor": page.next_cursor}


LIST_DOCUMENTS = Tool(
    name="list_documents",
    title="List documents",
    description="List the documents of the knowledge base, newest first, a page at a time. Use it "
    "to see what there is; to find documents about something use search_documents. If next_cursor "
    "is not null there are more: call again with it as cursor.",
    input_schema=object_schema(
        {
            "status": _STATUS,
            "tags": _TAGS,
            "collection": _COLLECTION,
            "source_type": _SOURCE_TYPE,
            "limit": whole_number("Number of documents per page.", default=20, maximum=MAX_PAGE),
            "cursor": text("next_cursor of the previous page.", max_length=500),
        }
    ),
    run=_list,
    freshness="documents",
)


# -- search_documents --------------------------------------------------------------------


def _search(context: ToolContext, arguments: Arguments) -> Result:
    query, limit = arguments.get("query"), arguments["limit"]
    found = _search_contents(context, arguments) if query else None
    with namespace(context.namespace_id):
        named = _matching(arguments)
        if title := arguments.get("title"):
            named = named.filter(title__icontains=title)
        by_content = _by_content(named, found) if found else []
        if query:
            named = named_like(named, query)
        by_name = [
            {**_listed(document), "matched": "name" if query else "filter"}
            for document in named.order_by("-created_at", "-id")[:limit]
        ]
    documents = _once([*by_name, *by_content])
    fallbacks = found.diagnostics.fallbacks if found else ()
    return {"documents": documents[:limit], "fallbacks": fallbacks}


def _search_contents(context: ToolContext, arguments: Arguments) -> SearchResult:
    is_narrowed = any(name in arguments for name in ("title", "source_uri", "status"))
    request = SearchRequest(
        query=arguments["query"],
        k=MAX_PAGE if is_narrowed else arguments["limit"],
        filters=Filters(
            tags_all=tuple(arguments.get("tags", ())),
            source_types=(arguments["source_type"],) if "source_type" in arguments else (),
            collections=(arguments["collection"],) if "collection" in arguments else (),
        ),
        min_relevance=MIN_RELEVANCE,
        max_per_document=1,
        token_budget=1_000_000,
        fast=True,
    )
    return search(context.namespace_id, request)


def _by_content(wanted: QuerySet[Document], found: SearchResult) -> list[dict[str, Any]]:
    """Return documents in the order of the passages that they were found by."""
    hits = {hit.candidate.document_id: hit for hit in found.hits}
    rows = wanted.in_bulk(list(hits))
    return [
        {
            **_listed(rows[document_id]),
            "matched": "content",
            "relevance": hit.relevance,
            "passage": hit.content,
            "start": hit.start,
            "end": hit.end,
        }
        for document_id, hit in hits.items()
        if document_id in rows
    ]


def _once(documents: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Merge hits by name and by content, so that each document is listed once."""
    kept: dict[Any, dict[str, Any]] = {}
    for document in documents:
        kept[document["id"]] = {**document, **kept.get(document["id"], {})}
    return list(kept.values())


SEARCH_DOCUMENTS = Tool(
    name="search_documents",
    title="Find documents",
    description="Find whole documents by what they are called or what they are about. `query` is "
    "looked for in titles, file names and addresses, and in the contents; a document found by its "
    "content comes with its best passage. Without `query` the others filter, newest first. "
    "Use ragSearch to get passages to answer a question from.",
    input_schema=object_schema(
        {
            "query": text("The document's name or subject.", max_length=MAX_QUERY),
            "title": text("Part of the title.", max_length=1000),
            "source_uri": text("Exactly this source, as shown by other tools.", max_length=2048),
            "source_type": _SOURCE_TYPE,
            "status": _STATUS,
            "tags": _TAGS,
            "collection": _COLLECTION,
            "limit": whole_number("Maximum number of documents.", default=10, maximum=MAX_PAGE),
        }
    ),
    run=_search,
    freshness="documents",
)


# -- get_document ------------------------------------------------------------------------


def _get(context: ToolContext, arguments: Arguments) -> Result:
    with namespace(context.namespace_id):
        document = find_document(arguments["document_id"])
        result: Result = {"document": DocumentSerializer(document).data}
        if arguments["include_text"]:
            start, length = arguments["start"], arguments["max_chars"]
            result["text"] = slice_of(document, start=start, length=length)
    return result


def slice_of(document: Document, *, start: int, length: int) -> dict[str, Any]:
    """Return a part of the live version's text, cut by the database, so that a long text is not
    read as a whole. Inside namespace(). Raises ApiError."""
    live = document.live_version or 0  # no version can have this number
    versions = DocumentVersion.objects.filter(document=document, number=live)
    part = Substr(F("text"), start + 1, length)
    found = versions.values("number", total=Length("text"), part=part).first()
    if found is None:
        raise ApiError(
            "not_ready", "This document's text has not been extracted yet.", http_status=409
        )
    start = min(start, found["total"])
    return {
        "version": found["number"],
        "start": start,
        "end": start + len(found["part"]),
        "total_chars": found["total"],
        "content": found["part"],
    }


GET_DOCUMENT = Tool(
    name="get_document",
    title="Read a document",
    description="Get a document's metadata and, if asked for, a part of its text. Use it to read "
    "around a passage: positions count characters from 0, as start and end of a citation do. Long "
    "texts come in parts: call again with start = end of the part before, until end = total_chars.",
    input_schema=object_schema(
        {
            "document_id": identifier("The document's id, as shown by other tools."),
            "include_text": {
                "type": "boolean",
                "description": "Also return text, from `start` on.",
                "default": False,
            },
            "start": whole_number("First character.", default=0, minimum=0, maximum=MAX_POSITION),
            "max_chars": whole_number(
                "Maximum number of characters.", default=4000, maximum=MAX_TEXT
            ),
        },
        required=["document_id"],
    ),
    run=_get,
    freshness="documents",
)
