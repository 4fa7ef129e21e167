"""Logs, metrics and traces of a search: figures and names, never the question or the results."""

import logging
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from ragsite.platform import metrics
from ragsite.platform.spans import Span, span, times_of

from .requests import SearchRequest, SearchResult

logger = logging.getLogger(__name__)


@dataclass
class ObservedSearch:
    trace: Span
    fields: dict[str, Any]
    fallbacks: Sequence[str] = field(default_factory=tuple)

    def found(
        self,
        result: SearchResult,
        *,
        cache: str,
        fallbacks: Sequence[str],
        times_ms: Mapping[str, float],
    ) -> None:
        candidates = [hit.candidate for hit in result.hits]
        similarities = [c.similarity for c in candidates if c.similarity is not None]
        self.fallbacks = fallbacks
        outcome = {
            "hits": len(candidates),
            "scores": [round(candidate.final, 4) for candidate in candidates],
            "mean_similarity": _mean(similarities),
            "profile": result.diagnostics.profile,
            "reranker": result.diagnostics.reranker,
            "cache": cache,
            "fallbacks": fallbacks,
        }
        self.trace.set(**outcome, **times_of(times_ms))  # its own duration is the total
        self.fields |= outcome

    def done(self, times_ms: Mapping[str, float]) -> None:
        """Write one log line and count."""
        metrics.SEARCH_CALLS.labels(self.fields["cache"]).inc()
        for name in self.fallbacks:
            metrics.SEARCH_FALLBACKS.labels(name.partition(":")[0]).inc()
        for stage, ms in times_ms.items():
            metrics.SEARCH_STAGES.labels(stage).observe(ms / 1000)
        logger.info("search.done", extra={**self.fields, "times_ms": times_ms})


@contextmanager
def searching(namespace_id: uuid.UUID, request: SearchRequest) -> Iterator[ObservedSearch]:
    described = {
        "namespace": str(namespace_id),
        "mode": request.mode,
        "top_k": request.k,
        "query_chars": len(request.query),
    }
    with span("rag.retriever.retrieve_documents", **described) as trace:
        yield ObservedSearch(trace, described)


def _mean(values: Sequence[float]) -> float | None:
    return round(sum(values) / len(values), 4) if values else None
