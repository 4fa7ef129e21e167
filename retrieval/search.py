"""From a question to cited passages: prepare → candidates → score → fuse → rerank → diversify →
read → assemble."""

import logging
import unicodedata
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from functools import lru_cache
from typing import Any

from django.conf import settings

from documents.errors import IngestError
from documents.models import Chunk, IndexProfile, Namespace
from documents.profiles import profiles
from documents.text.lexemes import ParsedQuery, parse_query
from ragsite.database import replica
from ragsite.database.tenancy import namespace, query_in_namespace
from ragsite.web.threads import release_connections
from retrieval.cache.results import State, search_cached
from retrieval.candidates.legs import NO_LEGS, Legs, Words, find_candidates
from retrieval.candidates.scoring import matches
from retrieval.context.assembly import CountTokens, assemble
from retrieval.context.highlights import highlighted
from retrieval.context.hits import contents, read
from retrieval.context.notes import notes_for
from retrieval.ranking.diversity import Pick
from retrieval.ranking.vectors import Vector, vectors_of
from retrieval.reranking import Chosen, Reranked

from . import reranking
from .context import selection
from .ranking import fusion, relevance
from .requests import (
    Candidate,
    Diagnostics,
    Explanation,
    SearchRequest,
    SearchResult,
    TermMatch,
)
from .rerankers.base import RerankPassage
from .timing import Clock

logger = logging.getLogger(__name__)

MOST_TRIES = 3

# A row's place and the transaction that wrote it: together they change whenever it does.
_TENANT = """
    SELECT namespace.revision, namespace.chunk_count, namespace.language, profile.id,
           profile.ctid::text || profile.xmin::text
    FROM documents_namespace namespace
    JOIN documents_indexprofile profile ON profile.id = namespace.active_profile_id
    WHERE namespace.id = %(namespace)s
"""

NO_WORDS = "no_words: the question holds no letter and no digit, so nothing can be looked for"

# Since this process began, by the fallback's name.
fallback_counts: Counter[str] = Counter()


class _Outdated(Exception):
    """Documents were replaced between finding their chunks and reading them."""


def search(namespace_id: uuid.UUID, request: SearchRequest) -> SearchResult:
    """Answer a question with passages. The number of SQL statements does not grow with hits."""
    clock = Clock()
    with clock("total"):
        query = parse_query(prepare(request.query))
        chosen = reranking.choose(
            query.text,
            choice=request.rerank,
            speed="fast" if request.fast else "balanced",
            for_answer=request.for_answer,
        )
        (result, cache), fallback = replica.read(
            lambda: _known_or_answered(namespace_id, query, request, chosen, clock)
        )
    uncached = "uncached: cache_unavailable" if cache == "down" else ""
    fallbacks = (*result.diagnostics.fallbacks, *filter(None, [fallback, uncached]))
    fallback_counts.update(name.partition(":")[0] for name in fallbacks)
    told = {"hits": len(result.hits), "cache": cache, "fallbacks": fallbacks}
    logger.info("search.done", extra={**told, "times_ms": clock.times_ms})
    diagnostics = replace(result.diagnostics, times_ms=clock.times_ms, fallbacks=fallbacks)
    return replace(result, cache="hit" if cache == "hit" else "miss", diagnostics=diagnostics)


def prepare(query: str) -> str:
    """One form for what looks alike; what carries meaning ("C++", "v2.1", "naïve") stays."""
    return " ".join(unicodedata.normalize("NFC", query).split())


def _known_or_answered(
    namespace_id: uuid.UUID,
    query: ParsedQuery,
    request: SearchRequest,
    chosen: Chosen,
    clock: Clock,
) -> tuple[SearchResult, State]:
    tenant = _tenant(namespace_id)
    return search_cached(
        namespace_id,
        tenant.revision,
        tenant.active_profile_id,
        request,
        lambda: _answer_of_one_moment(tenant, query, request, chosen, clock),
    )


def search_under(
    namespace_id: uuid.UUID, profile: IndexProfile, request: SearchRequest
) -> SearchResult:
    """The same under a profile that is kept beside the live one; nothing is cached."""
    query = parse_query(prepare(request.query))
    with namespace(namespace_id):
        chunks = Chunk.objects.filter(namespace=namespace_id, profile=profile).count()
    tenant = _tenant(namespace_id)
    tenant.active_profile, tenant.chunk_count = profile, chunks
    chosen = reranking.choose(
        query.text, choice=request.rerank, speed="balanced", for_answer=request.for_answer
    )
    return _answer_of_one_moment(tenant, query, request, chosen, Clock())


def _tenant(namespace_id: uuid.UUID) -> Namespace:
    """By hand: for Django to put this statement together takes longer than to run it."""
    found = query_in_namespace(namespace_id, _TENANT, {"namespace": namespace_id})
    (revision, chunk_count, language, profile_id, written) = found[0]
    return Namespace(
        pk=namespace_id,
        revision=revision,
        chunk_count=chunk_count,
        language=language,
        active_profile=_profile(namespace_id, profile_id, written),
    )


@lru_cache(maxsize=4096)  # one for each namespace
def _profile(namespace_id: uuid.UUID, profile_id: uuid.UUID, written: str) -> IndexProfile:
    with namespace(namespace_id):
        return IndexProfile.objects.get(pk=profile_id)


def _answer_of_one_moment(
    tenant: Namespace, query: ParsedQuery, request: SearchRequest, chosen: Chosen, clock: Clock
) -> SearchResult:
    """Again, if documents were replaced between finding their chunks and reading them."""
    for _ in range(MOST_TRIES - 1):
        try:
            return _answer(tenant, query, request, chosen, clock)
        except _Outdated:
            logger.info("search.again")
    return _answer(tenant, query, request, chosen, clock, is_last=True)


def _answer(
    tenant: Namespace,
    query: ParsedQuery,
    request: SearchRequest,
    chosen: Chosen,
    clock: Clock,
    *,
    is_last: bool = False,
) -> SearchResult:
    with ExitStack() as transaction:
        if any(character.isalnum() for character in query.text):
            legs = find_candidates(tenant, query, request, clock, transaction)
        else:
            legs = replace(NO_LEGS, words=Words(notes=(NO_WORDS,)))
            transaction.enter_context(namespace(tenant.pk))
        if not legs.is_current and not is_last:
            raise _Outdated
        question, refused = legs.words.question, legs.scored.refused
        count_tokens = _token_counter(tenant.active_profile)
        with clock("fuse"):
            vectors = vectors_of(legs.scored.candidates)
            fused = _fuse(legs, vectors, request)
            about_relevance = relevance.judge(
                fused,
                terms=question.terms if question else (),
                model_identity=tenant.active_profile.model_identity,
                min_relevance=request.min_relevance,
            )
        with clock("rerank"):
            ranked, reranked = _rerank(tenant, query, fused, request, chosen, transaction)
        good, weak = _above(request, ranked)
        with clock("read"):
            picks, crowded, rows = selection.choose(good, vectors, request, count_tokens)
            hits = read(picks, rows)
            if request.highlight and question:
                hits = highlighted(hits, question)
            terms = matches(ranked, question) if request.explain else {}
    if any(candidate.chunk_id not in rows for candidate in good[: len(rows)]) and not is_last:
        raise _Outdated
    budget = selection.token_budget(request)
    with clock("assemble"):
        context = assemble(
            hits, budget=budget, count_tokens=count_tokens, layout=request.context_format
        )
    dropped = [*context.dropped, *crowded, *weak, *refused]
    notes = notes_for(
        query,
        request,
        shown=context.hits,
        dropped=dropped,
        budget=budget,
        chunks=tenant.chunk_count,
    )
    if context.hits or weak:
        notes += about_relevance
    for candidate in (*ranked, *refused):
        candidate.packed = b""
    diagnostics = replace(
        _diagnostics(tenant, request, legs, reranked),
        notes=(*legs.words.notes, *notes),
        dropped=tuple({"chunk_id": c.chunk_id, "reason": c.dropped} for c in dropped),
        **_explained(request, legs, [*ranked, *refused], (picks, dropped), terms),
    )
    return SearchResult(
        request.query,
        context.hits,
        context.text,
        context.tokens,
        diagnostics,
        relevance.best_of(hit.candidate for hit in context.hits),
    )


def _diagnostics(
    tenant: Namespace, request: SearchRequest, legs: Legs, reranked: Reranked
) -> Diagnostics:
    """How the candidates were found and ranked."""
    return Diagnostics(
        profile=tenant.active_profile.name,
        mode=request.mode,
        fusion=request.fusion,
        ann_k=len(legs.near),
        lexical_k=len(legs.words.candidates),
        dense_plan=legs.plan,
        reranker=reranked.reranker,
        fallbacks=(*legs.fallbacks, *filter(None, [reranked.fallback])),
        notes=(),
        dropped=(),
    )


def _fuse(
    legs: Legs, vectors: Mapping[uuid.UUID, Vector], request: SearchRequest
) -> list[Candidate]:
    """A leg that did not run has no say, whatever the weights are."""
    candidates = legs.scored.candidates
    if request.fusion == "rrf":
        return fusion.rrf(candidates, k=request.rrf_k)
    semantic, lexical = request.semantic_weight, request.lexical_weight
    if request.mode == "lexical" or legs.vector is None:
        semantic, lexical = 0.0, 1.0
    elif request.mode == "semantic":
        semantic, lexical = 1.0, 0.0
    fused = fusion.weighted(candidates, semantic=semantic, lexical=lexical)
    if not semantic or not lexical:
        return fused  # the order of one leg is what was asked for
    return fusion.supported(fused, vectors)


def _rerank(
    tenant: Namespace,
    query: ParsedQuery,
    fused: Sequence[Candidate],
    request: SearchRequest,
    chosen: Chosen,
    transaction: ExitStack,
) -> tuple[list[Candidate], Reranked]:
    """The best of the fused order in the reranker's order; the rest stays behind them as it was."""
    best = fused[: settings.RERANK["top"]]
    texts: Mapping[uuid.UUID, str] = {}
    is_at_once = chosen.reranker in ("none", "cosine")  # neither of them reads
    if not is_at_once:
        texts = contents([candidate.chunk_id for candidate in best])
        transaction.close()  # nobody waits for a model inside one
        release_connections()
    result = reranking.rerank(
        query.text,
        [RerankPassage(texts.get(c.chunk_id, ""), c.similarity) for c in best],
        choice=request.rerank,
        speed="fast" if request.fast else "balanced",
        for_answer=request.for_answer,
        namespace_id=tenant.pk,
    )
    if not is_at_once:
        transaction.enter_context(namespace(tenant.pk))
    if result.scores is None:
        return list(fused), result
    for candidate, score in zip(best, result.scores, strict=True):
        candidate.rerank = score
    ranked = sorted(best, key=lambda c: (-(c.rerank or 0.0), c.fused_rank))
    for rank, candidate in enumerate(ranked, start=1):
        candidate.rerank_rank = rank
    return [*ranked, *fused[len(best) :]], result


def _above(
    request: SearchRequest, candidates: Sequence[Candidate]
) -> tuple[list[Candidate], list[Candidate]]:
    """By the stage's own score: a threshold on one says nothing about another."""
    good, weak = [], []
    for candidate in candidates:
        short = [
            stage
            for stage, least in request.thresholds
            if (own := candidate.score(stage)) is None or own < least
        ]
        if short:
            candidate.dropped = f"threshold: {short[0]}"
            weak.append(candidate)
        elif candidate.relevance is not None and candidate.relevance < request.min_relevance:
            candidate.dropped = "min_relevance"
            weak.append(candidate)
        else:
            good.append(candidate)
    return good, weak


def _token_counter(profile: IndexProfile) -> CountTokens:
    """The model's own tokenizer; a cautious guess when the embedder is what is broken."""
    try:
        return profiles.embedder_of(profile).count_tokens
    except IngestError:
        return lambda texts: [len(text) // 3 + 1 for text in texts]


def _explained(
    request: SearchRequest,
    legs: Legs,
    candidates: Sequence[Candidate],
    outcome: tuple[Sequence[Pick], Sequence[Candidate]],
    terms: Mapping[uuid.UUID, tuple[TermMatch, ...]],
) -> dict[str, Any]:
    """Every candidate with its fate, the words with their worth, the filters as understood."""
    if not request.explain:
        return {}
    picks, dropped = outcome
    fates = {merged: "merged" for pick in picks for merged in pick.merged}
    fates |= {pick.candidate.chunk_id: "" for pick in picks}
    fates |= {candidate.chunk_id: candidate.dropped for candidate in dropped}
    asked = legs.words.question.terms if legs.words.question else ()
    return {
        "is_explained": True,
        "filters": {k: v for k, v in asdict(request.filters).items() if v},
        "terms": tuple(
            {"term": term.label, "weight": round(term.weight, 4), "chunks": term.chunks}
            for term in asked
        ),
        "candidates": tuple(
            Explanation(
                replace(candidate, dropped=fates.get(candidate.chunk_id, "beyond_k")),
                terms.get(candidate.chunk_id, ()),
            )
            for candidate in candidates
        ),
    }
