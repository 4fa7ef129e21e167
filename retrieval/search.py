"""Search for cited passages: prepare → cached → candidates → fuse → rerank → boost →
diversify → read → assemble."""

import logging
import unicodedata
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from django.conf import settings

from documents.errors import IngestError
from documents.models import Chunk, IndexProfile
from documents.profiles import profiles
from documents.text.lexemes import ParsedQuery, parse_query
from ragsite.database import replica
from ragsite.database.tenancy import namespace
from ragsite.web.threads import release_connections

from . import reranking
from .cache.results import CacheState, search_cached
from .candidates.legs import (
    FoundCandidates,
    database_settings,
    find_candidates,
    start_legs,
)
from .candidates.scoring import matches
from .context import selection
from .context.assembly import CountTokens, assemble, remembered
from .context.diagnostics import diagnostics_of, explain
from .context.highlights import highlighted
from .context.hits import read
from .context.notes import CONVERSATIONS_LEFT_OUT, notes_for
from .context.rerank_passages import RankedChunk, rerank_passages, with_standing
from .learned import boosting
from .memory.mixing import with_facts
from .observing import searching
from .ranking import fusion, relevance
from .ranking.diversity import Pick
from .ranking.thresholds import split_by_thresholds
from .ranking.vectors import Vector, vectors_of
from .requests import Candidate, Hit, SearchRequest, SearchResult, TermMatch
from .rerankers.base import RerankPassage
from .reranking import ChosenReranker, Reranked
from .search_context import REVISION, SearchContext, read_index
from .timing import Clock

logger = logging.getLogger(__name__)

MAX_TRIES = 5


class _Outdated(Exception):
    """A document was replaced between finding its chunks and reading them."""


@dataclass(frozen=True, slots=True)
class _Fused:
    candidates: list[Candidate]  # best first
    vectors: Mapping[uuid.UUID, Vector]
    notes: tuple[str, ...]  # about their relevance


@dataclass(frozen=True, slots=True)
class _Ranked:
    candidates: list[Candidate]  # best first
    reranked: Reranked


@dataclass(frozen=True, slots=True)
class _Passages:
    hits: list[Hit]
    picks: list[Pick]
    weak: list[Candidate]  # below a threshold
    crowded: list[Candidate]  # dropped in favour of others
    term_matches: Mapping[uuid.UUID, tuple[TermMatch, ...]]
    is_current: bool  # False: a document was replaced before its chunks were read


def search(namespace_id: uuid.UUID, request: SearchRequest) -> SearchResult:
    """Answer a question with passages. The number of SQL statements does not depend on the hits."""
    clock = Clock()
    with searching(namespace_id, request) as observed, clock("total"):
        query = parse_query(prepare(request.query))
        reranker = _choose_reranker(query, request)
        (result, cache), fallback = replica.read(
            partial(_cached_or_searched, namespace_id, query, request, reranker, clock),
            namespace_id=namespace_id,
            version=REVISION,
        )
        uncached = "uncached: cache_unavailable" if cache == "down" else ""
        fallbacks = (*result.diagnostics.fallbacks, *filter(None, [fallback, uncached]))
        observed.found(result, cache=cache, fallbacks=fallbacks, times_ms=clock.times_ms)
    observed.done(clock.times_ms)
    diagnostics = replace(result.diagnostics, times_ms=clock.times_ms, fallbacks=fallbacks)
    return replace(result, cache="hit" if cache == "hit" else "miss", diagnostics=diagnostics)


def search_under(
    namespace_id: uuid.UUID, profile: IndexProfile, request: SearchRequest
) -> SearchResult:
    """Search under a profile that is kept next to the live one; nothing is cached."""
    query = parse_query(prepare(request.query))
    with namespace(namespace_id):
        chunk_count = Chunk.objects.filter(namespace=namespace_id, profile=profile).count()
    index = replace(read_index(namespace_id), profile=profile, chunk_count=chunk_count)
    reranker = _choose_reranker(query, request)
    return _search_until_current(SearchContext(index, query, request, reranker, Clock()))


def search_until_rerank(namespace_id: uuid.UUID, request: SearchRequest) -> list[RankedChunk]:
    """Return the candidates that the reranker `learned` would be given, in their fused order."""
    query = parse_query(prepare(request.query))
    learned = ChosenReranker("learned", "named")
    context = SearchContext(read_index(namespace_id), query, request, learned, Clock())
    started = start_legs(context)
    with namespace(namespace_id):
        fused = _fuse(context, find_candidates(context, started))
        return with_standing(_to_rerank(fused))


def prepare(query: str) -> str:
    """Normalise text that looks alike; meaningful differences ("C++", "v2.1", "naïve") are kept."""
    return " ".join(unicodedata.normalize("NFC", query).split())


def _choose_reranker(query: ParsedQuery, request: SearchRequest) -> ChosenReranker:
    return reranking.choose(
        query.text,
        choice=request.rerank,
        speed="fast" if request.fast else "balanced",
        for_answer=request.for_answer,
    )


def _cached_or_searched(
    namespace_id: uuid.UUID,
    query: ParsedQuery,
    request: SearchRequest,
    reranker: ChosenReranker,
    clock: Clock,
) -> tuple[SearchResult, CacheState]:
    index = read_index(namespace_id)
    context = SearchContext(index, query, request, reranker, clock)
    # A result depends on the content and, if the boost is requested, on the feedback.
    return search_cached(
        namespace_id,
        f"{index.revision} {boosting.state(context)}".rstrip(),
        index.profile.pk,
        request,
        partial(_search_with_facts, context),
    )


def _search_with_facts(context: SearchContext) -> SearchResult:
    result = _search_until_current(context)
    if context.request.facts is None:
        return result
    return with_facts(context, result, _token_counter(context.index.profile))


def _search_until_current(context: SearchContext) -> SearchResult:
    """Retry when a document changed between finding and reading its chunks."""
    for _ in range(MAX_TRIES - 1):
        try:
            return _search_once(context)
        except _Outdated:
            logger.info("search.again")
    return _search_once(context, is_last_try=True)


def _search_once(context: SearchContext, *, is_last_try: bool = False) -> SearchResult:
    started = start_legs(context)
    with namespace(context.namespace_id, database_settings(context)):
        found = find_candidates(context, started)
        if not found.is_current and not is_last_try:
            raise _Outdated
        count_tokens = _token_counter(context.index.profile)
        fused = _fuse(context, found)
        to_rerank = rerank_passages(_to_rerank(fused), context.reranker)
        if not context.reranker.reads_passages:
            ranked = _boost(context, found, _rerank(context, fused, to_rerank))
            passages = _read(context, found, fused, ranked, count_tokens)
    if context.reranker.reads_passages:
        release_connections()  # no transaction and no connection is held while a model reads
        ranked = _rerank(context, fused, to_rerank)
        with namespace(context.namespace_id):
            ranked = _boost(context, found, ranked)
            passages = _read(context, found, fused, ranked, count_tokens)
    if not passages.is_current and not is_last_try:
        raise _Outdated
    return _assemble(context, found, fused, ranked, passages, count_tokens)


def _fuse(context: SearchContext, found: FoundCandidates) -> _Fused:
    """Merge both legs into one order, with the relevance of each candidate."""
    query, candidates = found.lexical_query, found.scored.candidates
    with context.clock("fuse"):
        vectors = vectors_of(candidates)
        fused = fusion.fuse(
            candidates, vectors, context.request, has_similarities=found.vector is not None
        )
        notes = relevance.judge(
            fused,
            terms=query.terms if query else (),
            model_identity=context.index.profile.model_identity,
            min_relevance=context.request.min_relevance,
        )
    return _Fused(fused, vectors, notes)


def _to_rerank(fused: _Fused) -> list[Candidate]:
    return fused.candidates[: settings.RERANK["top"]]


def _rerank(context: SearchContext, fused: _Fused, to_rerank: Sequence[RerankPassage]) -> _Ranked:
    """Put the best candidates in the reranker's order; the others follow unchanged."""
    best = _to_rerank(fused)
    with context.clock("rerank"):
        result = reranking.rerank(
            context.query.text,
            to_rerank,
            context.reranker,
            namespace_id=context.namespace_id,
        )
    if result.scores is None:
        return _Ranked(fused.candidates, result)
    for candidate, score in zip(best, result.scores, strict=True):
        candidate.rerank = score
    ranked = sorted(best, key=lambda c: (-(c.rerank or 0.0), c.fused_rank))
    for rank, candidate in enumerate(ranked, start=1):
        candidate.rerank_rank = rank
    return _Ranked([*ranked, *fused.candidates[len(best) :]], result)


def _boost(context: SearchContext, found: FoundCandidates, ranked: _Ranked) -> _Ranked:
    """Let feedback on similar questions move candidates, if the request asks for it. Inside
    namespace()."""
    candidates = boosting.boosted(context, ranked.candidates, found.vector)
    return replace(ranked, candidates=candidates)


def _read(
    context: SearchContext,
    found: FoundCandidates,
    fused: _Fused,
    ranked: _Ranked,
    count_tokens: CountTokens,
) -> _Passages:
    """Diversify, and read the remaining chunks. Inside namespace()."""
    request, query = context.request, found.lexical_query
    good, weak = split_by_thresholds(ranked.candidates, request)
    with context.clock("read"):
        selected = selection.select(good, fused.vectors, request, count_tokens)
        hits = read(selected.picks, selected.rows)
        if request.highlight and query:
            hits = highlighted(hits, query)
        term_matches = matches(ranked.candidates, query) if request.explain else {}
    return _Passages(
        hits, selected.picks, weak, selected.dropped, term_matches, selected.is_current
    )


def _assemble(
    context: SearchContext,
    found: FoundCandidates,
    fused: _Fused,
    ranked: _Ranked,
    passages: _Passages,
    count_tokens: CountTokens,
) -> SearchResult:
    request, refused = context.request, found.scored.refused
    budget = selection.token_budget(request)
    with context.clock("assemble"):
        text = assemble(
            passages.hits, budget=budget, count_tokens=count_tokens, layout=request.context_format
        )
    dropped = [*text.dropped, *passages.crowded, *passages.weak, *refused]
    notes = notes_for(
        context.query,
        request,
        shown=text.hits,
        dropped=dropped,
        budget=budget,
        chunks=context.index.chunk_count,
    )
    if text.hits or passages.weak:
        notes += fused.notes
    elif context.leaves_out_conversations:
        notes += (CONVERSATIONS_LEFT_OUT,)
    candidates = [*ranked.candidates, *refused]
    for candidate in candidates:
        candidate.packed = b""  # results are cached, and vectors are large
    explanation = explain(
        context,
        found,
        candidates,
        picks=passages.picks,
        dropped=dropped,
        term_matches=passages.term_matches,
    )
    return SearchResult(
        query=request.query,
        hits=text.hits,
        context=text.text,
        context_tokens=text.tokens,
        diagnostics=diagnostics_of(
            context, found, ranked.reranked, notes=notes, dropped=dropped, explanation=explanation
        ),
        relevance=relevance.best_of(hit.candidate for hit in text.hits),
    )


def _token_counter(profile: IndexProfile) -> CountTokens:
    """Return the model's token counter, or a conservative estimate if the embedder is broken."""
    try:
        return remembered(profiles.embedder_of(profile).count_tokens)
    except IngestError:
        return _guess_tokens


def _guess_tokens(texts: Sequence[str]) -> list[int]:
    return [len(text) // 3 + 1 for text in texts]
