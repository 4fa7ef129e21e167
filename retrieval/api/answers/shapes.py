"""Convert answers to plain data as described in serializers.py, by hand for speed."""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

from retrieval.answering.requests import (
    AnswerEvent,
    AnswerResult,
    AnswerSentence,
    Citation,
    Event,
    Evidence,
    SourcesEvent,
    StatedValue,
    TextEvent,
    Uncertainty,
)
from retrieval.api.hit_shapes import ids_of
from retrieval.api.serializers import diagnostics_of

Shape = dict[str, Any]


def shape_of_answer(result: AnswerResult, *, query: str) -> Shape:
    cited = {citation.id for citation in result.citations}
    shape = {
        "query_id": result.query_id,
        "query": query,
        "question": result.question,
        "answer": result.text,
        "is_answered": result.is_answered,
        "grounded": result.grounded,
        "missing": result.missing,
        "relevance": result.relevance,
        "citations": [shape_of_citation(c, result.evidence) for c in result.citations],
        "sources": [shape_of_source(e, cited=e.id in cited) for e in result.evidence],
        "sentences": [_sentence(s) for s in result.sentences],
        "uncertainties": [_uncertainty(u, result.evidence) for u in result.uncertainties],
        "model": result.model,
        "usage": _usage(result),
        "diagnostics": _diagnostics(result),
    }
    if result.verification is not None:
        shape["verification"] = asdict(result.verification)
    return shape


def shape_of_citation(citation: Citation, evidence: Iterable[Evidence]) -> Shape:
    hit = citation.evidence.hit
    first, last = citation.page_start, citation.page_end or citation.page_start
    return {
        "type": "char_location",
        "id": citation.id,
        "cited_text": citation.cited_text,
        "document_index": _index_of(citation.id, evidence),
        "document_title": hit.title,
        "start_char_index": citation.start,
        "end_char_index": citation.end,
        "start_page_number": first,
        "end_page_number": None if last is None else last + 1,
        **ids_of(hit),
        "fact": hit.fact,
        "section": hit.section,
        "source_uri": hit.source_uri,
        "checksum": hashlib.sha256(citation.cited_text.encode()).hexdigest(),
        "answer_span": {"start": citation.answer_start, "end": citation.answer_end},
        "is_quote": citation.is_quote,
        "supported": citation.supported,
    }


def shape_of_source(evidence: Evidence, *, cited: bool | None = None) -> Shape:
    """`cited` is None until there is an answer."""
    hit = evidence.hit
    return {
        "id": evidence.id,
        **ids_of(hit),
        "fact": hit.fact,
        "title": hit.title,
        "source_uri": hit.source_uri,
        "section": hit.section,
        "page": hit.page,
        "page_end": hit.page_end,
        "span": {"start": hit.start, "end": hit.end},
        "content": hit.content,
        "checksum": hit.checksum,
        "relevance": hit.relevance,
        "kind": hit.kind,
        "as_of": evidence.as_of,
        "cited": cited,
    }


class WireEvents:
    """Convert the pipeline's events to (name, data) pairs."""

    def __init__(self, *, query: str) -> None:
        self.query = query
        self._evidence: tuple[Evidence, ...] = ()

    def of(self, event: Event) -> Iterator[tuple[str, Shape]]:
        match event:
            case SourcesEvent():
                self._evidence = event.evidence
                yield "sources", self._sources(event)
            case TextEvent(checked):
                if checked.text:
                    yield "delta", {"text": checked.text}
                for citation in checked.citations:
                    yield "citation", shape_of_citation(citation, self._evidence)
            case AnswerEvent(result):
                yield "answer", shape_of_answer(result, query=self.query)

    def _sources(self, event: SourcesEvent) -> Shape:
        return {
            "query_id": event.query_id,
            "query": self.query,
            "question": event.question,
            "sources": [shape_of_source(evidence) for evidence in event.evidence],
        }


def _index_of(id_: str, evidence: Iterable[Evidence]) -> int | None:
    return next((n for n, one in enumerate(evidence) if one.id == id_), None)


def _sentence(sentence: AnswerSentence) -> Shape:
    return {
        "start": sentence.start,
        "end": sentence.end,
        "citation_ids": sentence.citation_ids,
        "support": sentence.support,
    }


def _uncertainty(uncertainty: Uncertainty, evidence: Iterable[Evidence]) -> Shape:
    by_id = {one.id: one for one in evidence}
    start, end = uncertainty.answer_start, uncertainty.answer_end
    return {
        "kind": uncertainty.kind,
        "message": uncertainty.message,
        "values": [_value(v, by_id.get(v.evidence_id)) for v in uncertainty.values],
        "answer_span": None if start is None else {"start": start, "end": end},
    }


def _value(value: StatedValue, evidence: Evidence | None) -> Shape:
    return {
        "text": value.text,
        "source_id": value.evidence_id,
        "document_id": ids_of(evidence.hit)["document_id"] if evidence else None,
        "span": {"start": value.start, "end": value.end},
        "as_of": value.as_of,
    }


def _usage(result: AnswerResult) -> Shape:
    usage = result.usage
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.prompt_tokens + usage.completion_tokens,
        "is_estimated": usage.is_estimated,
        "cost": result.cost,
    }


def _diagnostics(result: AnswerResult) -> Shape:
    search = result.search_diagnostics
    return {
        "searches": result.searches,
        "fallbacks": result.fallbacks,
        "notes": result.notes,
        "finish": result.finish,
        "times_ms": result.times_ms,
        "checks": asdict(result.report),
        "cache": result.search_cache,
        "search": search and diagnostics_of(search, cache=result.search_cache),
    }
