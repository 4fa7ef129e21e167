"""GET /library: a page of documents, newest first, with search, filters and open jobs."""

import uuid
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render

from documents.extractors.formats import FORMATS, kind_name
from documents.jobs.queue import OPEN_STATES
from documents.listing import InvalidCursor, documents_matching, named_like, page_of
from documents.models import Collection, Document, IngestJob, Namespace, NamespaceUsage
from documents.pages.frame import frame
from documents.pages.links import passage_url
from documents.pages.people import chosen_namespace, namespaces_of, page_view, remember
from ragsite.database.tenancy import namespace
from ragsite.platform.wording import plural

ROWS = 50
LISTED_COLLECTIONS = 100
MAX_QUERY = 200  # characters
FILTERS = ("q", "status", "tag", "type", "collection")
SHOWN_FIELDS = (
    "namespace_id",
    "title",
    "source_uri",
    "source_type",
    "status",
    "tags",
    "byte_size",
    "created_at",
    "updated_at",
    "live_version",
    "error_code",
    "error_message",
)
SOURCE_TYPES = {kind.source_type for kind in FORMATS.values()} | {"web"}


@page_view
def library_page(request: HttpRequest, user: AbstractBaseUser) -> HttpResponse:
    namespaces = namespaces_of(user)
    chosen = chosen_namespace(request, namespaces)
    context = {
        **frame(user, here="library", chosen=chosen),
        "namespaces": namespaces,
        "max_bytes": settings.INGEST_MAX_BYTES,
    }
    if chosen is not None:
        context |= _contents(chosen, request.GET)
    return remember(render(request, "pages/library.html", context), chosen)


def _contents(chosen: Namespace, parameters: QueryDict) -> dict[str, Any]:
    wanted = {name: parameters.get(name, "").strip()[:MAX_QUERY] for name in FILTERS}
    cursor = parameters.get("cursor") or None
    with namespace(chosen.pk):
        try:
            page = page_of(_matching(wanted), limit=ROWS, cursor=cursor)
        except InvalidCursor:
            cursor = None
            page = page_of(_matching(wanted), limit=ROWS)
        jobs = _open_jobs([document.pk for document in page.documents])
        usage = NamespaceUsage.objects.filter(namespace=chosen).first()
        collections = list(
            Collection.objects.exclude(name=None)
            .order_by("-created_at")
            .values_list("name", flat=True)[:LISTED_COLLECTIONS]
        )
    here = {"namespace": chosen.slug, **{name: text for name, text in wanted.items() if text}}
    return {
        "rows": [row_of(document, jobs.get(document.pk)) for document in page.documents],
        "wanted": wanted,
        "is_filtered": any(wanted.values()),
        "is_first": cursor is None,
        "older": urlencode({**here, "cursor": page.next_cursor}) if page.next_cursor else "",
        "newest": urlencode(here),
        "total_text": plural(usage.documents if usage else 0, "document"),
        "tag_query": urlencode({"namespace": chosen.slug}),
        "collections": collections,
        "statuses": Document.Status.values,
        "types": sorted(
            ((each, kind_name(each)) for each in SOURCE_TYPES), key=lambda named: named[1].lower()
        ),
    }


def _matching(wanted: dict[str, str]) -> QuerySet[Document]:
    documents = documents_matching(
        status=wanted["status"] or None,
        source_type=wanted["type"] or None,
        tags=[wanted["tag"]] if wanted["tag"] else (),
        collection=wanted["collection"] or None,
    )
    return named_like(documents, wanted["q"]).only(*SHOWN_FIELDS)


def _open_jobs(document_ids: list[uuid.UUID]) -> dict[uuid.UUID, uuid.UUID]:
    jobs = IngestJob.objects.filter(document__in=document_ids, state__in=OPEN_STATES)
    return dict(jobs.order_by("created_at").values_list("document_id", "id"))


def row_of(document: Document, job_id: uuid.UUID | None = None) -> dict[str, Any]:
    """Return what the list shows of a document, with the link that opens it."""
    address = ""
    if document.live_version:
        address = passage_url(
            namespace_id=document.namespace_id,
            document_id=document.pk,
            version=document.live_version,
        )
    can_retry = document.status in (Document.Status.FAILED, Document.Status.CANCELLED)
    return {
        "document": document,
        "kind": kind_name(document.source_type),
        "job_id": job_id,
        "url": address,
        "can_retry": can_retry,
    }
