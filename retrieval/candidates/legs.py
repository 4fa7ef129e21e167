"""Run both legs at once: the lexical search runs in the database while the question is embedded.
Then every candidate gets the scores of both legs."""

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from django.conf import settings

from documents.errors import IngestError
from ragsite.database.tenancy import namespace
from retrieval.requests import Candidate, SearchRequest
from retrieval.search_context import SearchContext
from retrieval.speakers import leaving_out

from . import dense, lexical, outside, side_thread
from .lexical import LexicalQuery
from .query_embedding import embed_question
from .scope import SearchScope, scope_of
from .scoring import NOTHING, Scored, compare, score, union

logger = logging.getLogger(__name__)

T = TypeVar("T")

NO_PHRASE = "phrase_not_found: no passage has the quoted words as they stand, so each by itself"
NO_WORDS = "no_words: the question holds no letter and no digit, so nothing can be looked for"


@dataclass(frozen=True, slots=True)
class LexicalResult:
    """The hits of the lexical leg, and how it understood the question."""

    hits: Sequence[Candidate] = ()
    query: LexicalQuery | None = None
    fallbacks: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StartedLegs:
    """The question's vector, and the lexical leg if it is already running."""

    lexical_task: "_LexicalTask | None" = None
    vector: Sequence[float] | None = None  # None: not needed, or the embedder failed
    fallbacks: tuple[str, ...] = ()
    asked: outside.StoreAnswer | None = None  # the response of the profile's store


@dataclass(frozen=True, slots=True)
class FoundCandidates:
    dense_hits: Sequence[Candidate]
    lexical: LexicalResult
    scored: Scored  # the candidates of both legs with the scores of both
    vector: Sequence[float] | None
    plan: str = "none"
    fallbacks: tuple[str, ...] = ()
    is_current: bool = True  # False: a document was replaced before its chunks were scored

    @property
    def lexical_query(self) -> LexicalQuery | None:
        return self.lexical.query


_NO_CANDIDATES = FoundCandidates((), LexicalResult(notes=(NO_WORDS,)), NOTHING, None)


def start_legs(context: SearchContext) -> StartedLegs:
    """Start the lexical search in another thread while the question is embedded here.

    Call it outside of transactions: embedding may wait for a provider.
    """
    if context.index.profile.is_stored_outside and context.has_words:
        started = _ask_store(context)
        if started.asked is not None:
            return started
        return replace(_start_in_tables(context), fallbacks=started.fallbacks)
    return _start_in_tables(context)


def _start_in_tables(context: SearchContext) -> StartedLegs:
    mode, query = context.request.mode, context.query
    if mode == "lexical" or not context.has_words:
        return StartedLegs()
    task = _LexicalTask(context) if _needs_words(context) else None
    vector, fallbacks = _embed(context, query.text)
    if task is not None:
        vector = task.query_vector = _respelt(context, vector, task.query.result())
    return StartedLegs(task, vector, fallbacks)


def _needs_words(context: SearchContext) -> bool:
    """Phrases and exclusions are checked by words in every mode."""
    query = context.query
    return context.request.mode != "semantic" or bool(query.phrases or query.excluded)


def _ask_store(context: SearchContext) -> StartedLegs:
    """Search both legs in the profile's store. Without `asked` in the result, the tables have to be
    searched."""
    understanding = side_thread.start(
        outside.understand, context, needs_words=_needs_words(context)
    )
    vector: Sequence[float] | None = None
    fallbacks: tuple[str, ...] = ()
    if context.request.mode != "lexical":
        vector, fallbacks = _embed(context, context.query.text)
    understood = understanding.result()
    vector = _respelt(context, vector, understood.query)
    limit = _candidates_for(context.request)
    asked, fallback = outside.ask(context, understood, vector, limit=limit)
    return StartedLegs(None, vector, (*fallbacks, *filter(None, [fallback])), asked)


def find_candidates(context: SearchContext, started: StartedLegs) -> FoundCandidates:
    """Return candidates of the legs that the mode uses; only lexical ones if embedding fails.
    Inside namespace()."""
    if not context.has_words:
        return _NO_CANDIDATES
    if started.asked is not None:
        found, fallback = _found_by_store(context, started, started.asked)
        if found is not None:
            return found
        started = replace(started, fallbacks=(*started.fallbacks, fallback))
    return _find_in_tables(context, started)


def _found_by_store(
    context: SearchContext, started: StartedLegs, asked: outside.StoreAnswer
) -> tuple[FoundCandidates | None, str]:
    """Return the candidates that the store has found, and from the tables those it does not have.
    Inside namespace()."""
    vector, query = started.vector, asked.understood.query
    limit = _candidates_for(context.request)
    read, fallback = outside.read_back(context, asked, vector, limit=limit)
    if read is None:
        return None, fallback
    lexical_result = LexicalResult()
    if read.lexical_hits is not None and query is not None:
        lexical_result = LexicalResult(read.lexical_hits, query, notes=query.notes)
    elif vector is None or _needs_words(context):
        lexical_result = _lexical_hits(context, asked.understood.scope)
    scored = score(union(read.dense_hits, lexical_result.hits), vector=vector)
    return FoundCandidates(
        read.dense_hits,
        lexical_result,
        scored,
        vector,
        context.index.profile.store,
        fallbacks=started.fallbacks + lexical_result.fallbacks,
        is_current=read.is_current,
    ), ""


def _find_in_tables(context: SearchContext, started: StartedLegs) -> FoundCandidates:
    """Inside namespace()."""
    task, vector = started.lexical_task, started.vector
    scope = task.scope.result() if task else scope_of(context)
    query = task.query.result() if task else None
    dense_hits, plan = _dense_hits(context, vector, query, scope)
    if task is not None:
        lexical_result = task.result.result()
    elif vector is None or (started.asked is not None and _needs_words(context)):
        lexical_result = _lexical_hits(context, scope)
    else:
        lexical_result = LexicalResult()
    with context.clock("score"):
        found = union(dense_hits, lexical_result.hits)
        scored = score(found, vector=vector)
    return FoundCandidates(
        dense_hits,
        lexical_result,
        scored,
        vector,
        plan,
        fallbacks=started.fallbacks + lexical_result.fallbacks,
        is_current=len(scored.candidates) + len(scored.refused) == len(found),
    )


class _LexicalTask:
    """The lexical leg in another thread. Its scope and its interpretation of the question are
    available before its hits."""

    def __init__(self, context: SearchContext) -> None:
        self.scope: Future[SearchScope] = Future()
        self.query: Future[LexicalQuery | None] = Future()
        self.query_vector: Sequence[float] | None = None  # set as soon as it is known
        self.result = side_thread.start(self._find, context)
        self.result.add_done_callback(self._ended)

    def _find(self, context: SearchContext) -> LexicalResult:
        with namespace(context.namespace_id):
            scope = scope_of(context)
            _settle(self.scope, scope)
            found = _lexical_hits(context, scope, self._understood)
            if self.query_vector is not None:  # the dense leg is searching meanwhile
                compare(found.hits, self.query_vector)
            return found

    def _understood(self, query: LexicalQuery | None) -> None:
        _settle(self.query, query)

    def _ended(self, result: "Future[LexicalResult]") -> None:
        error = result.exception()
        if error is None:
            return self._understood(result.result().query)
        for waited_for in (self.scope, self.query):
            if not waited_for.done():
                waited_for.set_exception(error)


def _settle(future: "Future[T]", value: T) -> None:
    if not future.done():  # it is done if the work was repeated on a new connection
        future.set_result(value)


def _candidates_for(request: SearchRequest) -> int:
    """Return how many candidates each leg contributes."""
    return max(settings.SEARCH["candidates"], request.k)


def _ef_search(request: SearchRequest) -> int:
    return max(settings.SEARCH["ef_search"], _candidates_for(request))


def database_settings(context: SearchContext) -> dict[str, str]:
    """Return settings that the vector leg needs unless there is a filter: set with the transaction,
    they cost no round trip."""
    return dense.scan_settings(context.index.profile, _ef_search(context.request))


def _lexical_hits(
    context: SearchContext,
    scope: SearchScope,
    understood: Callable[[LexicalQuery | None], None] = lambda query: None,
) -> LexicalResult:
    """`understood` is called with the query before the search starts."""
    index = context.index
    profile_id = index.profile.pk
    with context.clock("lexical"):
        query = lexical.analyse(
            context.query, namespace_id=index.namespace_id, profile_id=profile_id
        )
        if query is None or not query.phrases:  # phrases may still be dropped
            understood(query)
        if query is not None:
            return _bm25_hits(context, query, scope)
        if not index.chunk_count:
            return LexicalResult()
        found = lexical.find_plainly(
            context.query,
            profile_id=profile_id,
            scope=scope,
            limit=_candidates_for(context.request),
            language=index.language,
        )
        return LexicalResult(found, None, ("plain_full_text: words_not_counted",))


def _bm25_hits(context: SearchContext, query: LexicalQuery, scope: SearchScope) -> LexicalResult:
    """Drop the phrases if no chunk has them and the question has other words."""
    find = partial(
        lexical.find,
        profile_id=context.index.profile.pk,
        scope=scope,
        limit=_candidates_for(context.request),
        budget=settings.SEARCH["lexical_budget"],
        enough=context.request.k,
    )
    found = find(query)
    if found or not query.phrases or context.query.is_all_phrases:
        return LexicalResult(found, query, notes=query.notes)
    query = replace(query, phrases="")
    return LexicalResult(find(query), query, notes=(*query.notes, NO_PHRASE))


def _embed(context: SearchContext, text: str) -> tuple[Sequence[float] | None, tuple[str, ...]]:
    """Return the text's vector, or None and the fallback if the embedder fails."""
    try:
        with context.clock("embed"):
            meant = leaving_out(context.request.speakers, text)
            return embed_question(context.index, meant), ()
    except IngestError as error:
        logger.warning("search.fallback", extra={"code": error.code}, exc_info=True)
        return None, (f"lexical_only: {error.code}",)


def _respelt(
    context: SearchContext, vector: Sequence[float] | None, query: LexicalQuery | None
) -> Sequence[float] | None:
    """Return the vector of the question without its spelling mistakes, which are known by now."""
    if vector is None or query is None or not query.respelt:
        return vector
    return _embed(context, query.respelt)[0] or vector


def _dense_hits(
    context: SearchContext,
    vector: Sequence[float] | None,
    query: LexicalQuery | None,
    scope: SearchScope,
) -> tuple[Sequence[Candidate], str]:
    """Return the candidates, and the plan that found them."""
    if vector is None:
        return (), "none"
    limit = _candidates_for(context.request)
    with context.clock("vector"):
        return dense.find(
            vector,
            namespace_id=context.namespace_id,
            profile=context.index.profile,
            scope=scope,
            limit=limit,
            exact_up_to=settings.SEARCH["exact_scan_rows"],
            ef_search=_ef_search(context.request),
            question=query,
        )
