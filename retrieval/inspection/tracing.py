"""Trace a chunk through every stage, to explain why a search found it or not."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from django.conf import settings

from documents.ingestion.embedding import as_text
from documents.models import Chunk
from documents.text.lexemes import parse_query
from ragsite.database.tenancy import current_connection, namespace
from retrieval import reranking
from retrieval.candidates.legs import FoundCandidates, find_candidates, start_legs
from retrieval.candidates.scoring import compare, matches
from retrieval.context.chunk_rows import fetch_rows
from retrieval.context.near_duplicates import NearDuplicates
from retrieval.ranking.vectors import vectors_of
from retrieval.requests import Candidate, Explanation, SearchRequest, SearchResult, TermMatch
from retrieval.search import prepare, search
from retrieval.search_context import SearchContext, read_index
from retrieval.timing import Clock

COMPARED = 100_000  # chunks; in larger namespaces the rank among all chunks is not computed
EPSILON = 1e-4  # scores may be rounded

Verdict = Literal["in", "out", "skipped"]

SENTENCES = {
    "other_profile": "It belongs to an index profile that searches of its namespace do not use.",
    "not_a_candidate": "It was no candidate: neither its meaning nor its words were near enough.",
    "query_syntax": "It lacks a quoted phrase of the question, or has an excluded word.",
    "min_relevance": "Its relevance is below min_relevance.",
    "duplicate": "Its content is nearly that of a better passage, which is shown instead.",
    "max_per_document": "Its document already has as many passages as max_per_document allows.",
    "merged": "It was joined with a passage for which there was no room in the token budget.",
    "token_budget": "There was no room left for it in the token budget.",
    "beyond_k": "Others came first, and no more passages were asked for.",
}


_NEARER = """
    SELECT count(*) FROM documents_chunk
    WHERE namespace_id = %(namespace)s AND profile_id = %(profile)s
      AND 1 - (embedding <=> %(vector)s::halfvec) > %(score)s
"""
_WORDIER = """
    SELECT count(*) FROM documents_chunkterms
    WHERE namespace_id = %(namespace)s AND profile_id = %(profile)s
      AND -(impacts <#> %(weights)s::sparsevec) > %(score)s
"""


@dataclass(frozen=True, slots=True)
class StageTrace:
    """The result of one stage. `cut` is the score of the last candidate that it kept."""

    name: str
    verdict: Verdict
    rank: int | None = None
    of: int | None = None
    score: float | None = None
    cut: float | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class ChunkTrace:
    """`outcome` is `hit`, `merged`, or why it was dropped: a key of SENTENCES, or a threshold."""

    outcome: str
    sentence: str
    stages: tuple[StageTrace, ...]
    position: int | None  # among the passages shown; from 1
    words: tuple[TermMatch, ...]  # words of the question that it contains
    missing: tuple[str, ...]  # words of the question that it lacks
    relevance: float | None
    result: SearchResult

    @property
    def is_found(self) -> bool:
        return self.position is not None


def trace(namespace_id: uuid.UUID, chunk_id: uuid.UUID, request: SearchRequest) -> ChunkTrace:
    """Search, and follow one chunk. Raises Chunk.DoesNotExist, and what `search` raises."""
    with namespace(namespace_id):
        chunk = Chunk.objects.only("document_id", "profile_id").get(pk=chunk_id)
    result = search(namespace_id, replace(request, explain=True))
    known = {each.candidate.chunk_id: each for each in result.diagnostics.candidates}
    if own := known.get(chunk_id):
        return _of_candidate(own, namespace_id, result, request)
    index = read_index(namespace_id)
    if index.profile.pk != chunk.profile_id:
        sentence = SENTENCES["other_profile"]
        return ChunkTrace("other_profile", sentence, (), None, (), (), None, result)
    query = parse_query(prepare(request.query))
    unranked = reranking.ChosenReranker("none", "named")
    context = SearchContext(index, query, request, unranked, Clock())
    return _trace_non_candidate(Candidate(chunk_id, chunk.document_id), context, result)


def _of_candidate(
    own: Explanation, namespace_id: uuid.UUID, result: SearchResult, request: SearchRequest
) -> ChunkTrace:
    candidate = own.candidate
    position = _position(candidate.chunk_id, result)
    everyone = [each.candidate for each in result.diagnostics.candidates]
    stages = [
        _leg("dense", candidate, everyone, result.diagnostics.ann_k),
        _leg("lexical", candidate, everyone, result.diagnostics.lexical_k),
        *_ranking(candidate, everyone, result),
        *_choosing(candidate, position, result, request),
    ]
    is_merged = candidate.dropped == "merged" and position is not None
    outcome = candidate.dropped or "hit"
    repeated = _repeated(namespace_id, candidate, result) if outcome == "duplicate" else None
    return ChunkTrace(
        outcome,
        _sentence(outcome, position, is_merged=is_merged, repeated=repeated),
        tuple(stages),
        position,
        own.terms,
        _missing(own.terms, result),
        candidate.relevance,
        result,
    )


def _sentence(outcome: str, position: int | None, *, is_merged: bool, repeated: int | None) -> str:
    if is_merged:
        return f"Found: it is part of passage {position}, joined with its neighbour."
    if outcome == "hit":
        return f"Found: it is passage {position}."
    if repeated is not None:
        return f"Its content is nearly that of passage {repeated}, which is shown instead."
    if outcome.startswith("threshold"):
        return f"Its score is below the {outcome}."
    return SENTENCES.get(outcome, outcome)


def _position(chunk_id: uuid.UUID, result: SearchResult) -> int | None:
    for number, hit in enumerate(result.hits, start=1):
        if chunk_id == hit.candidate.chunk_id or chunk_id in hit.merged:
            return number
    return None


def _repeated(namespace_id: uuid.UUID, own: Candidate, result: SearchResult) -> int | None:
    """Return the number of the passage that this chunk duplicates."""
    shown = {hit.candidate.chunk_id: number for number, hit in enumerate(result.hits, start=1)}
    everyone = [own, *(hit.candidate for hit in result.hits)]
    with namespace(namespace_id):
        rows = fetch_rows([candidate.chunk_id for candidate in everyone])
        duplicates = NearDuplicates(everyone, rows, vectors_of(everyone))
        if own.chunk_id not in rows:  # deleted since the search
            return None
        repeated = (n for pk, n in shown.items() if duplicates.any_among(own.chunk_id, {pk}))
        return next(repeated, None)


def _leg(name: str, own: Candidate, everyone: Sequence[Candidate], found: int) -> StageTrace:
    key = "vector" if name == "dense" else "lexical"
    rank, score = own.rank(key), own.score(key)
    if not found:
        return StageTrace(
            name, "skipped", score=score, note="This leg found nothing or did not run."
        )
    cut = _lowest(key, everyone)
    if rank is None:
        note = "Not among its candidates; the other leg found the chunk."
        return StageTrace(name, "out", of=found, score=score, cut=cut, note=note)
    return StageTrace(name, "in", rank=rank, of=found, score=score, cut=cut)


def _lowest(key: str, everyone: Sequence[Candidate]) -> float | None:
    scores = [each.score(key) for each in everyone if each.rank(key) is not None]
    return min((score for score in scores if score is not None), default=None)


def _ranking(
    own: Candidate, everyone: Sequence[Candidate], result: SearchResult
) -> list[StageTrace]:
    """Trace fusion and reranking."""
    if own.dropped == "query_syntax":
        return [StageTrace("fused", "out", note=SENTENCES["query_syntax"])]
    ranked = [each for each in everyone if each.fused_rank]
    fused = StageTrace("fused", "in", rank=own.fused_rank, of=len(ranked), score=own.fused)
    reranker = result.diagnostics.reranker
    if reranker == "none":
        note = "; ".join(result.diagnostics.fallbacks) or "No reranker was used."
        return [fused, StageTrace("reranked", "skipped", note=note)]
    top = min(len(ranked), int(settings.RERANK["top"]))
    if own.rerank_rank is None:
        note = f"Beyond the {top} that {reranker} reads: the fused order is kept."
        return [fused, StageTrace("reranked", "skipped", of=top, note=note)]
    reranked = StageTrace(
        "reranked", "in", rank=own.rerank_rank, of=top, score=own.rerank, note=reranker
    )
    return [fused, reranked]


def _choosing(
    own: Candidate, position: int | None, result: SearchResult, request: SearchRequest
) -> list[StageTrace]:
    """Trace thresholds, diversity and the token budget, up to the stage that dropped the chunk."""
    if own.dropped == "query_syntax":
        return []
    if own.dropped == "min_relevance" or own.dropped.startswith("threshold"):
        return [StageTrace("thresholds", "out", score=own.relevance, cut=request.min_relevance)]
    if own.dropped in ("duplicate", "max_per_document", "beyond_k"):
        note = SENTENCES[own.dropped]
        return [StageTrace("diversified", "out", of=request.k, note=note)]
    joined = f"joined with passage {position}" if own.dropped == "merged" else ""
    diversified = StageTrace("diversified", "in", rank=position, of=request.k, note=joined)
    if own.dropped == "token_budget" or position is None:
        return [diversified, StageTrace("budget", "out", note=SENTENCES["token_budget"])]
    used = f"{result.context_tokens:,} tokens used"
    return [diversified, StageTrace("budget", "in", rank=position, of=len(result.hits), note=used)]


def _trace_non_candidate(
    own: Candidate, context: SearchContext, result: SearchResult
) -> ChunkTrace:
    """Trace a chunk that no leg found: its scores, and how far each is from the last
    candidate's."""
    started = start_legs(context)
    with namespace(context.namespace_id):
        found = find_candidates(context, started)
        compare([own], found.vector)
        words = matches([own], found.lexical_query).get(own.chunk_id, ())
        own.lexical = sum(word.score for word in words) if found.lexical_query else None
        stages = (
            _dense_of_non_candidate(own, context, found),
            _lexical_of_non_candidate(own, context, found),
        )
    return ChunkTrace(
        "not_a_candidate",
        SENTENCES["not_a_candidate"],
        stages,
        None,
        words,
        _missing(words, result),
        None,
        result,
    )


def _dense_of_non_candidate(
    own: Candidate, context: SearchContext, found: FoundCandidates
) -> StageTrace:
    if found.vector is None or own.similarity is None:
        return StageTrace("dense", "skipped", note="Vectors were not compared.")
    return StageTrace(
        "dense",
        "out",
        rank=_place(_NEARER, context, vector=as_text(found.vector), score=own.similarity),
        of=context.index.chunk_count,
        score=own.similarity,
        cut=_lowest("vector", found.dense_hits),
        note=_last_candidate(len(found.dense_hits)),
    )


def _lexical_of_non_candidate(
    own: Candidate, context: SearchContext, found: FoundCandidates
) -> StageTrace:
    query = found.lexical_query
    if query is None or own.lexical is None:
        return StageTrace("lexical", "skipped", note="Words were not compared.")
    if not own.lexical:
        note = "It has no word of the question."
        return StageTrace("lexical", "out", score=0.0, note=note)
    return StageTrace(
        "lexical",
        "out",
        rank=_place(_WORDIER, context, weights=query.weights, score=own.lexical),
        of=context.index.chunk_count,
        score=own.lexical,
        cut=_lowest("lexical", found.lexical.hits),
        note=_last_candidate(len(found.lexical.hits)),
    )


def _last_candidate(count: int) -> str:
    return f"The {count} best were candidates." if count else "There were no candidates."


def _place(
    statement: str, context: SearchContext, *, score: float, **parameters: str
) -> int | None:
    """Return the rank among all chunks, by comparing with each; None if there are too many."""
    if context.index.chunk_count > COMPARED:
        return None
    of_index = {"namespace": context.namespace_id, "profile": context.index.profile.pk}
    with current_connection().cursor() as cursor:
        cursor.execute(statement, {**parameters, **of_index, "score": score + EPSILON})
        better: int = cursor.fetchone()[0]
    return better + 1


def _missing(words: Sequence[TermMatch], result: SearchResult) -> tuple[str, ...]:
    had = {word.term for word in words}
    return tuple(term["term"] for term in result.diagnostics.terms if term["term"] not in had)
