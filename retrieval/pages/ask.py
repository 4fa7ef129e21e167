"""GET /: the page for asking; POST /ask/answer: its answers, as server-sent events."""

import uuid
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_safe

from documents.extractors.formats import kind_name
from documents.models import Document, Namespace, NamespaceUsage
from documents.pages.frame import frame
from documents.pages.library.listing import SHOWN_FIELDS, row_of
from documents.pages.links import SharedVia, base_url_of, passage_url
from documents.pages.people import (
    chosen_namespace,
    find_namespace,
    json_view,
    namespaces_of,
    remember,
    signed_in,
)
from ragsite.database.tenancy import namespace
from ragsite.web.streaming import event_stream
from retrieval.api.answers.events import EventPair, answer_events
from retrieval.api.answers.runs import AnswerRun
from retrieval.api.answers.serializers import answer_request_of

LOOKED_AT, SHOWN = 20, 3  # of the newest documents


@require_safe
@ensure_csrf_cookie
def ask_page(request: HttpRequest) -> HttpResponse:
    """Show the page for asking; to users who are not signed in, an introduction to the service."""
    user = signed_in(request)
    if user is None:
        return render(request, "pages/welcome.html")
    namespaces = namespaces_of(user)
    chosen = chosen_namespace(request, namespaces)
    context = {**frame(user, here="ask", chosen=chosen), "namespaces": namespaces}
    if chosen is not None:
        context |= _first_look(chosen)
    return remember(render(request, "pages/ask.html", context), chosen)


def _first_look(chosen: Namespace) -> dict[str, Any]:
    """Return what there is to ask about: the number of documents, and the titles of some new
    ones."""
    with namespace(chosen.pk):
        usage = NamespaceUsage.objects.filter(namespace=chosen).first()
        newest = Document.objects.only(*SHOWN_FIELDS)
        newest = newest.order_by("-created_at", "-id")[:LOOKED_AT]
        readable = [document for document in newest if document.live_version][:SHOWN]
    return {
        "document_count": usage.documents if usage else 0,
        "newest": [
            {
                "title": str(each),
                "url": row_of(each)["url"],
                "kind": kind_name(each.source_type),
                "added": each.created_at,
            }
            for each in readable
        ],
    }


@json_view
def ask_answer(
    request: HttpRequest, user: AbstractBaseUser, data: dict[str, Any]
) -> HttpResponseBase:
    """Stream the events of POST /api/v1/answer; each source and citation has a `url` that opens
    it."""
    namespace_id = find_namespace(user, data.pop("namespace", None)).pk
    asked, _ = answer_request_of({**data, "stream": True})
    run = AnswerRun(namespace_id, asked, door="page")
    links = PassageLinks(namespace_id, base_url=base_url_of(request))
    response = event_stream(linked(answer_events(run, asked), links))
    response._resource_closers.append(run.close)  # type: ignore[attr-defined]
    return response


class PassageLinks:
    """Adds to each source and citation of an event the link that opens its passage."""

    def __init__(
        self, namespace_id: uuid.UUID, *, base_url: str, shared: SharedVia | None = None
    ) -> None:
        self.namespace_id, self.base_url, self.shared = namespace_id, base_url, shared

    def add_to(self, event: EventPair) -> EventPair:
        name, data = event
        if name == "citation":
            return name, self._citation(data)
        if name in ("sources", "answer"):
            data = {**data, "sources": [self._source(source) for source in data["sources"]]}
        if name == "answer":
            data["citations"] = [self._citation(citation) for citation in data["citations"]]
        return name, data

    def _source(self, source: dict[str, Any]) -> dict[str, Any]:
        return {**source, "url": self._url(source, **source["span"])}

    def _citation(self, citation: dict[str, Any]) -> dict[str, Any]:
        start, end = citation["start_char_index"], citation["end_char_index"]
        return {**citation, "url": self._url(citation, start=start, end=end)}

    def _url(self, place: dict[str, Any], *, start: int, end: int) -> str:
        return passage_url(
            namespace_id=self.namespace_id,
            document_id=place["document_id"],
            version=place["document_version"],
            start=start,
            end=end,
            base_url=self.base_url,
            shared=self.shared,
        )


async def linked(
    events: AsyncGenerator[EventPair], links: PassageLinks
) -> AsyncGenerator[EventPair]:
    async with aclosing(events):
        async for event in events:
            yield links.add_to(event)
