"""Run one golden query through the search: the results, and each stage's rank of the answers."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from documents.models import Chunk, Document
from evaluation.measures.answers import answer_in_context
from evaluation.measures.matching import Judged, RankedPassage, RankingUnit, meets, units_of
from evaluation.measures.metrics import FIRST_RESULTS
from ragsite.database.tenancy import namespace
from retrieval.cache import results
from retrieval.requests import Candidate, Explanation, Filters
from retrieval.search import search

from .options import RunOptions

STAGES = ("vector", "lexical", "fused", "rerank")


@dataclass(frozen=True, slots=True)
class PreparedQuery:
    """A golden query with the current positions of its answers."""

    query_id: uuid.UUID
    text: str
    filters: Filters
    judged: tuple[Judged, ...]
    is_answerable: bool = True  # False: there is no answer, so it should be refused

    @property
    def by_document(self) -> bool:
        return not any(judged.is_span for judged in self.judged)


@dataclass(frozen=True, slots=True)
class Answered:
    units: list[RankingUnit]
    judged: list[dict[str, Any]]
    ranking: list[dict[str, Any]]
    times_ms: Mapping[str, float]
    tokens: int
    in_context: float | None  # whether it contains the answer; None if no text is judged
    has_document: bool  # whether the first results include an expected document
    fallbacks: list[str] = field(default_factory=list)


def ask(
    namespace_id: uuid.UUID,
    question: PreparedQuery,
    options: RunOptions,
    *,
    own_ids: Mapping[uuid.UUID, uuid.UUID] | None = None,
) -> Answered:
    """Search twice, without caches: first as a client would, for time, tokens and the answer in the
    context; then to the full depth, for the ranking. `own_ids` maps the documents of a copy to
    the originals."""
    with results.bypassed():
        timed = search(namespace_id, options.asked(question.text, question.filters))
        deep = search(
            namespace_id,
            options.ranked(question.text, question.filters, by_document=question.by_document),
        )
    passages = [RankedPassage(hit.source_uri, hit.start, hit.end) for hit in deep.hits]
    units = units_of(passages, question.judged)
    grades = {unit.passage: unit.judged.grade for unit in reversed(units) if unit.judged}
    names = own_ids or {}
    expected = {judged.source_uri for judged in question.judged if judged.grade > 0}
    return Answered(
        units=units,
        judged=_stage_ranks(namespace_id, question, deep.diagnostics.candidates, units),
        ranking=[
            {
                "document_id": str(names.get(hit.candidate.document_id, hit.candidate.document_id)),
                "start": hit.start,
                "end": hit.end,
                "grade": grades.get(index),
                "ranks": _ranks(hit.candidate),
                "scores": _scores(hit.candidate),
            }
            for index, hit in enumerate(deep.hits)
        ],
        times_ms=timed.diagnostics.times_ms,
        tokens=timed.context_tokens,
        in_context=answer_in_context(timed.context, question.judged),
        has_document=any(hit.source_uri in expected for hit in timed.hits[:FIRST_RESULTS]),
        fallbacks=sorted({*timed.diagnostics.fallbacks, *deep.diagnostics.fallbacks}),
    )


def _ranks(candidate: Candidate) -> dict[str, int | None]:
    return {stage: candidate.rank(stage) for stage in STAGES}


def _scores(candidate: Candidate) -> dict[str, float | None]:
    scores = {stage: candidate.score(stage) for stage in (*STAGES, "final", "relevance")}
    return {stage: None if s is None else round(s, 5) for stage, s in scores.items()}


def _stage_ranks(
    namespace_id: uuid.UUID,
    question: PreparedQuery,
    explained: Sequence[Explanation],
    units: Sequence[RankingUnit],
) -> list[dict[str, Any]]:
    """Return each judgement with the best rank of a matching passage at each stage, and its
    outcome: the reason if it was dropped, "not a candidate" if no leg found it."""
    places = _places(namespace_id, question, explained)
    final = {unit.name: rank for rank, unit in enumerate(units, start=1)}
    rows = []
    for judged in question.judged:
        mine = [
            explanation.candidate
            for explanation in explained
            if (place := places.get(explanation.candidate.chunk_id)) and meets(place, judged)
        ]
        ranks = {
            stage: min((r for c in mine if (r := _ranks(c)[stage])), default=None)
            for stage in STAGES
        }
        best = min(mine, key=lambda c: c.rerank_rank or c.fused_rank, default=None)
        fate = best.dropped if best else "not a candidate"
        rank = final.get(judged.name)
        rows.append(
            {
                "judgement": judged.name,
                "grade": judged.grade,
                "rank": rank,
                "ranks": ranks,
                "fate": "" if rank else fate,
            }
        )
    return rows


def _places(
    namespace_id: uuid.UUID, question: PreparedQuery, explained: Sequence[Explanation]
) -> dict[uuid.UUID, RankedPassage]:
    """Load the spans of candidates from judged documents; the others do not matter."""
    sources = {judged.source_uri for judged in question.judged}
    found = {explanation.candidate.document_id for explanation in explained}
    with namespace(namespace_id):
        documents = {
            pk: uri
            for pk, uri in Document.objects.filter(pk__in=found).values_list("pk", "source_uri")
            if uri in sources
        }
        chunks = Chunk.objects.filter(
            pk__in=[e.candidate.chunk_id for e in explained if e.candidate.document_id in documents]
        )
        rows = list(chunks.values_list("pk", "document_id", "start", "end"))
    return {pk: RankedPassage(documents[document], start, end) for pk, document, start, end in rows}
