"""Ask a logged question again and compare the earlier hits with the present ones."""

import uuid
from dataclasses import dataclass
from typing import Any

from django.urls import reverse

from documents.errors import IngestError
from evaluation.errors import BadGoldenSet
from evaluation.golden.curating import check_query, read_filters
from retrieval import query_log
from retrieval.models import QueryLog
from retrieval.requests import Hit, SearchRequest, SearchResult
from retrieval.search import search

from .page import actions_of
from .returned import Returned, returned_by


@dataclass(frozen=True, slots=True)
class Moved:
    """A passage with its earlier and its present rank; None if it was not returned."""

    document_id: uuid.UUID
    title: str
    section: str
    is_deleted: bool
    then: int | None
    now: int | None
    relevance_then: float | None
    relevance_now: float | None

    @property
    def change(self) -> str:
        if self.then is None:
            return "new"
        if self.now is None:
            return "gone"
        if self.then == self.now:
            return "same"
        return "up" if self.now < self.then else "down"

    @property
    def places(self) -> int:
        return abs((self.then or 0) - (self.now or 0))


def context_of(line: QueryLog) -> dict[str, Any]:
    context: dict[str, Any] = {
        "title": f"“{line.query[:60]}” asked again",
        "parent": (
            f"“{line.query[:40]}”",
            reverse("admin:retrieval_querylog_change", args=[line.pk]),
        ),
        **actions_of(line),
    }
    try:
        check_query(line.query, line.filters)
        request = SearchRequest(
            query=line.query,
            filters=read_filters(line.filters),
            **query_log.asked_again(line),
        )
        result = search(line.namespace_id, request)
    except (BadGoldenSet, IngestError) as error:
        return {**context, "problem": str(error)}
    rows = compared(returned_by(line), result)
    return {
        **context,
        "result": result,
        "rows": rows,
        "moved": sum(row.change not in ("same",) for row in rows),
        "total_ms": result.diagnostics.times_ms.get("total", 0.0),
        "is_known": line.returned is not None,
    }


def compared(then: list[Returned] | None, result: SearchResult) -> list[Moved]:
    """Return the present hits in order, then those that are no longer returned."""
    left = list(then or [])
    rows = []
    for rank, hit in enumerate(result.hits, start=1):
        before = next((one for one in left if _same_place(one, hit)), None)
        if before:
            left.remove(before)
        rows.append(_now(rank, hit, before))
    return [*rows, *map(_gone, left)]


def _same_place(one: Returned, hit: Hit) -> bool:
    return (
        one.document_id == hit.candidate.document_id and one.start < hit.end and hit.start < one.end
    )


def _now(rank: int, hit: Hit, before: Returned | None) -> Moved:
    return Moved(
        hit.candidate.document_id,
        hit.title or hit.source_uri,
        hit.section,
        is_deleted=False,
        then=before.rank if before else None,
        now=rank,
        relevance_then=before.relevance if before else None,
        relevance_now=hit.relevance,
    )


def _gone(one: Returned) -> Moved:
    return Moved(
        one.document_id,
        one.title,
        one.section,
        is_deleted=one.document is None,
        then=one.rank,
        now=None,
        relevance_then=one.relevance,
        relevance_now=None,
    )
