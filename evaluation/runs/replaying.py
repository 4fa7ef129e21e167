"""Ask logged questions again with their original options, and compare the results."""

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from documents.errors import IngestError
from evaluation.errors import BadGoldenSet
from evaluation.golden.curating import check_query, read_filters
from evaluation.measures import metrics
from ragsite.database.tenancy import namespace
from ragsite.platform.errors import ApiError
from retrieval import query_log
from retrieval.cache import results
from retrieval.models import QueryLog
from retrieval.requests import Hit, SearchRequest
from retrieval.search import search


@dataclass(frozen=True, slots=True)
class Replayed:
    """One question with its earlier and current results. `kept` is the fraction of the original
    passages that are still returned; None if the original results are unknown."""

    query_id: uuid.UUID
    query: str
    hits_then: int
    hits_now: int
    kept: float | None
    is_first_same: bool | None
    relevance_then: float | None
    relevance_now: float | None
    ms_then: float
    ms_now: float


@dataclass(slots=True)
class Replay:
    questions: list[Replayed]
    problems: dict[str, str]  # the reasons by question, if it could not be asked again


def replay(
    namespace_id: uuid.UUID,
    *,
    since: datetime | None = None,
    until: datetime | None = None,
    limit: int = 200,
    rerank: str = "",
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Replay:
    """Ask the newest `limit` questions again, each text once, without caches. `rerank` replaces the
    original reranker."""
    lines = _lines(namespace_id, since, until, limit)
    replayed: list[Replayed] = []
    problems: dict[str, str] = {}
    for done, line in enumerate(lines, start=1):
        try:
            check_query(line.query, line.filters)
            options = query_log.asked_again(line) | ({"rerank": rerank} if rerank else {})
            request = SearchRequest(query=line.query, filters=read_filters(line.filters), **options)
            with results.bypassed():
                result = search(namespace_id, request)
        except (BadGoldenSet, IngestError, ApiError) as error:
            problems[line.query] = str(error)
        else:
            replayed.append(_compared(line, result.hits, result.relevance, result.diagnostics))
        progress(done, len(lines))
    return Replay(replayed, problems)


def _lines(
    namespace_id: uuid.UUID, since: datetime | None, until: datetime | None, limit: int
) -> list[QueryLog]:
    with namespace(namespace_id):
        rows = QueryLog.objects.filter(namespace=namespace_id).order_by("-created_at", "-id")
        if since:
            rows = rows.filter(created_at__gte=since)
        if until:
            rows = rows.filter(created_at__lt=until)
        return list(_once(rows.iterator(chunk_size=500), limit))


def _once(rows: Iterator[QueryLog], limit: int) -> Iterator[QueryLog]:
    seen: set[tuple[str, str]] = set()
    for row in rows:
        key = (row.query, repr(row.filters))
        if key not in seen:
            seen.add(key)
            yield row
        if len(seen) == limit:
            return


def _compared(
    line: QueryLog, hits: Sequence[Hit], relevance: float | None, diagnostics: Any
) -> Replayed:
    then = line.returned
    kept = first = None
    if then:
        kept = sum(any(_same_place(place, hit) for hit in hits) for place in then) / len(then)
        first = bool(hits) and _same_place(then[0], hits[0])
    elif then is not None:
        kept, first = (0.0, False) if hits else (1.0, True)
    return Replayed(
        query_id=line.pk,
        query=line.query,
        hits_then=line.hits,
        hits_now=len(hits),
        kept=kept,
        is_first_same=first,
        relevance_then=line.relevance,
        relevance_now=relevance,
        ms_then=line.times_ms.get("total", 0.0),
        ms_now=diagnostics.times_ms.get("total", 0.0),
    )


def _same_place(place: Mapping[str, Any], hit: Hit) -> bool:
    return (
        place["document"] == str(hit.candidate.document_id)
        and place["start"] < hit.end
        and hit.start < place["end"]
    )


def summary_of(replayed: Replay) -> dict[str, Any]:
    """Return the means over the questions whose original results are known."""
    known = [each for each in replayed.questions if each.kept is not None]
    rated = [
        (each.relevance_then, each.relevance_now)
        for each in replayed.questions
        if each.relevance_then is not None and each.relevance_now is not None
    ]
    return {
        "questions": len(replayed.questions),
        "not_asked": len(replayed.problems),
        "compared": len(known),
        "kept": _mean([each.kept or 0.0 for each in known]),
        "first_same": _mean([float(bool(each.is_first_same)) for each in known]),
        "empty_then": sum(not each.hits_then for each in replayed.questions),
        "empty_now": sum(not each.hits_now for each in replayed.questions),
        "relevance_then": _mean([then for then, _ in rated]),
        "relevance_now": _mean([now for _, now in rated]),
        "ms_then": metrics.percentiles([each.ms_then for each in replayed.questions]),
        "ms_now": metrics.percentiles([each.ms_now for each in replayed.questions]),
    }


def _mean(values: Sequence[float]) -> float | None:
    return round(sum(values) / len(values), 4) if values else None
