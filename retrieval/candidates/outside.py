"""Candidates from a search store outside of the database.

The store is called before any transaction begins, and returns ids. The rows are read under
row-level security and with the request's own filter, so that neither another tenant's chunk nor one
with changed tags becomes a candidate, whatever the store returns. Documents that the store does not
have yet are searched in the tables, so a search finds what has just been uploaded.
"""

import logging
import math
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.conf import settings

from documents.ingestion.embedding import as_text
from documents.stores import marks, outbox, registry
from documents.stores.base import (
    AnyOf,
    StoreCondition,
    StoreFailed,
    StoreFound,
    StoreMisfit,
    StoreQuestion,
)
from ragsite.database.tenancy import current_connection, id_array, namespace
from ragsite.web.threads import release_connections
from retrieval.requests import Candidate
from retrieval.search_context import SearchContext, read_index

from . import bm25, dense, lexical
from .lexical import LexicalQuery
from .scope import SearchScope, scope_of
from .store_filters import conditions_of

logger = logging.getLogger(__name__)

INSTEAD = "postgres_search"  # the name of the fallback
MAX_DEPTH = 2000  # requested from a store if PostgreSQL has to check the filter

_READ_BACK = """
    SELECT chunk.id, chunk.document_id, 1 - (chunk.embedding <=> %(vector)s::halfvec),
           halfvec_send(chunk.embedding), -(terms.impacts <#> %(weights)s::sparsevec),
           %(required)s::text IS NULL OR terms.search_vector @@ %(required)s::tsquery,
           {passes}
    FROM documents_chunk chunk
    JOIN documents_document document ON document.id = chunk.document_id
    LEFT JOIN documents_chunkterms terms ON terms.chunk_id = chunk.id
    WHERE chunk.id = ANY (%(ids)s::uuid[])
      AND chunk.namespace_id = %(tenant)s AND chunk.profile_id = %(profile)s
"""
_PASSING = """
    SELECT document.id, document.chunks_count FROM documents_document document
    WHERE document.id = ANY (%(pending)s::uuid[]) AND document.namespace_id = %(tenant)s
      AND document.live_version IS NOT NULL AND {condition}
"""
NO_WORDS = "{}/1000000000"


@dataclass(frozen=True, slots=True)
class Understood:
    """What has to be read before a store can be called."""

    scope: SearchScope
    query: LexicalQuery | None
    conditions: Sequence[StoreCondition]
    is_whole: bool  # whether the conditions cover the whole filter
    pending: frozenset[uuid.UUID]


@dataclass(frozen=True, slots=True)
class StoreAnswer:
    """The store's response, before rows are read."""

    understood: Understood
    found: StoreFound
    depth: int
    has_words: bool  # the store has searched the words, too


@dataclass(frozen=True, slots=True)
class ReadBack:
    dense_hits: Sequence[Candidate]
    lexical_hits: Sequence[Candidate] | None  # None if they do not come from the store
    is_current: bool


class _Instead(Exception):
    """The tables are searched instead; str(error) is the reason, in one word."""


def understand(context: SearchContext, *, needs_words: bool) -> Understood:
    index = context.index
    with namespace(context.namespace_id):
        scope = scope_of(context)
        conditions, is_whole = conditions_of(context.filters, scope)
        query = None
        if needs_words:
            query = lexical.analyse(
                context.query, namespace_id=index.namespace_id, profile_id=index.profile.pk
            )
        return Understood(scope, query, conditions, is_whole, frozenset(_pending(context)))


def ask(
    context: SearchContext, understood: Understood, vector: Sequence[float] | None, *, limit: int
) -> tuple[StoreAnswer | None, str]:
    """Search in the profile's store; return None and the fallback if it cannot be used. Call it
    outside of transactions."""
    try:
        return _ask(context, understood, vector, limit), ""
    except _Instead as reason:
        return None, f"{INSTEAD}: {reason}"


def _ask(
    context: SearchContext, understood: Understood, vector: Sequence[float] | None, limit: int
) -> StoreAnswer:
    profile, query = context.index.profile, understood.query
    _require_synced(understood.pending)
    try:
        store = registry.store_of(profile)
    except StoreMisfit as error:
        logger.warning("store.misfit", exc_info=True)
        raise _Instead("store_not_configured") from error
    # Phrases are checked by PostgreSQL, which also finds them by its index.
    has_words = store.carries_words and query is not None and not query.required
    words = bm25.weights(query.terms) if has_words and query is not None else None
    accepted = [one for one in understood.conditions if store.accepts(one)]
    depth = limit
    if not understood.is_whole or len(accepted) < len(understood.conditions):
        depth = min(MAX_DEPTH, math.ceil(2 * limit / max(understood.scope.share, 0.001)))
    breaker = registry.breaker(profile.store)
    if breaker.is_open:
        raise _Instead("store_unavailable")
    nothing_passes = any(isinstance(one, AnyOf) and not one.values for one in accepted)
    if nothing_passes or (vector is None and not words):
        return StoreAnswer(understood, StoreFound(), depth, has_words)
    release_connections()
    question = StoreQuestion(vector, words, depth, tuple(accepted))
    try:
        with context.clock("store"):
            found = store.search(
                registry.collection_of(profile),
                context.namespace_id,
                question,
                seconds=settings.STORE_SEARCH["seconds"],
            )
    except StoreFailed as error:
        breaker.failed()
        logger.warning("store.fallback", extra={"code": error.code}, exc_info=True)
        raise _Instead(error.code) from error
    breaker.worked()
    if not marks.is_current(profile, found.mark):
        raise _Instead("store_stale")
    return StoreAnswer(understood, found, depth, has_words)


def read_back(
    context: SearchContext, asked: StoreAnswer, vector: Sequence[float] | None, *, limit: int
) -> tuple[ReadBack | None, str]:
    """Return the store's results as candidates; None and the fallback if they were not enough.
    Inside namespace()."""
    try:
        with context.clock("read_back"):
            return _read_back(context, asked, vector, limit), ""
    except _Instead as reason:
        return None, f"{INSTEAD}: {reason}"


def _read_back(
    context: SearchContext, asked: StoreAnswer, vector: Sequence[float] | None, limit: int
) -> ReadBack:
    understood = asked.understood
    pending = understood.pending | _pending(context)
    _require_synced(pending)
    hits = _StoreHits(context, asked, vector, pending)
    legs = [asked.found.dense] if vector is not None else []
    if asked.has_words:
        legs.append(asked.found.words)
    enough = limit if asked.depth > limit else max(context.request.k, limit // 2)
    for ids in legs:
        passing = sum(hits.has(chunk_id) for chunk_id, _ in ids)
        if passing < enough and len(ids) >= asked.depth:
            raise _Instead("filter_too_narrow")
    near, worded = hits.dense(), hits.worded()
    if pending:
        more_near, more_worded = _search_pending(context, asked, vector, pending, limit)
        near, worded = [*near, *more_near], [*worded, *more_worded]
    near = sorted(near, key=lambda c: (-(c.similarity or 0.0), c.chunk_id))[:limit]
    for rank, candidate in enumerate(near, start=1):
        candidate.similarity_rank = rank
    worded = sorted(worded, key=lambda c: (-(c.lexical or 0.0), c.chunk_id))[:limit]
    for rank, candidate in enumerate(worded, start=1):
        candidate.lexical_rank = rank
    is_current = not hits.missing or _revision(context) == context.index.revision
    return ReadBack(near, worded if asked.has_words else None, is_current)


class _StoreHits:
    """The chunks that the store has returned, as they are in the tables."""

    def __init__(
        self,
        context: SearchContext,
        asked: StoreAnswer,
        vector: Sequence[float] | None,
        pending: frozenset[uuid.UUID],
    ) -> None:
        self._found = asked.found
        ids = list(dict.fromkeys(i for i, _ in (*asked.found.dense, *asked.found.words)))
        rows = _rows(context, asked.understood, vector, ids)
        self.missing = len(ids) - len(rows)
        self._candidates = {
            row[0]: _candidate(row, vector, asked.understood.query)
            for row in rows
            if row[6] and row[1] not in pending  # of those the tables know better
        }

    def has(self, chunk_id: uuid.UUID) -> bool:
        return chunk_id in self._candidates

    def dense(self) -> list[Candidate]:
        return [replace(self._candidates[i]) for i, _ in self._found.dense if self.has(i)]

    def worded(self) -> list[Candidate]:
        return [replace(self._candidates[i]) for i, _ in self._found.words if self.has(i)]


def _rows(
    context: SearchContext,
    understood: Understood,
    vector: Sequence[float] | None,
    ids: Iterable[uuid.UUID],
) -> list[tuple[Any, ...]]:
    scope, query = understood.scope, understood.query
    passes = scope.condition or "true"
    parameters = {
        **scope.parameters,
        "ids": id_array(ids),
        "vector": None if vector is None else as_text(vector),
        "weights": query.weights if query else NO_WORDS,
        "required": (query.required or None) if query else None,
        "tenant": context.namespace_id,
        "profile": context.index.profile.pk,
    }
    if scope.kinds:
        passes += " AND chunk.kind = ANY (%(kinds)s::text[])"
        parameters["kinds"] = list(scope.kinds)
    with current_connection().cursor() as cursor:
        cursor.execute(_READ_BACK.format(passes=passes), parameters)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows


def _search_pending(
    context: SearchContext,
    asked: StoreAnswer,
    vector: Sequence[float] | None,
    pending: frozenset[uuid.UUID],
    limit: int,
) -> tuple[Sequence[Candidate], Sequence[Candidate]]:
    """Search all chunks of the documents that the store does not have yet."""
    understood, index = asked.understood, context.index
    scope = understood.scope
    with current_connection().cursor() as cursor:
        cursor.execute(
            _PASSING.format(condition=scope.condition or "true"),
            {**scope.parameters, "pending": id_array(pending), "tenant": context.namespace_id},
        )
        rows = cursor.fetchall()
    chunks = sum(count for _, count in rows)
    few = settings.SEARCH["exact_scan_rows"]
    if chunks > few:
        raise _Instead("store_behind")
    if not rows:
        return (), ()
    own = SearchScope(
        chunks,
        share=0.0,
        kinds=scope.kinds,
        parameters={**scope.parameters, "tenant": context.namespace_id},
        documents=id_array(document_id for document_id, _ in rows),
    )
    near: Sequence[Candidate] = ()
    if vector is not None:
        near, _ = dense.find(
            vector,
            namespace_id=context.namespace_id,
            profile=index.profile,
            scope=own,
            limit=limit,
            exact_up_to=few,
            ef_search=limit,
            question=understood.query,
        )
    worded: Sequence[Candidate] = ()
    if asked.has_words and understood.query is not None:
        worded = lexical.find(
            understood.query,
            profile_id=index.profile.pk,
            scope=own,
            limit=limit,
            budget=settings.SEARCH["lexical_budget"],
        )
    return near, worded


def _candidate(
    row: tuple[Any, ...], vector: Sequence[float] | None, query: LexicalQuery | None
) -> Candidate:
    chunk_id, document_id, similarity, packed, score, is_wanted, _ = row
    candidate = Candidate(chunk_id, document_id)
    if vector is not None:
        candidate.similarity, candidate.packed = similarity, packed
    if query is not None:
        candidate.lexical = score
        candidate.dropped = "" if is_wanted else "query_syntax"
    return candidate


def _pending(context: SearchContext) -> set[uuid.UUID]:
    return outbox.pending(
        context.namespace_id,
        context.index.profile.pk,
        at_most=settings.STORE_SEARCH["pending"] + 1,
    )


def _require_synced(pending: frozenset[uuid.UUID]) -> None:
    if len(pending) > settings.STORE_SEARCH["pending"]:
        raise _Instead("store_behind")


def _revision(context: SearchContext) -> int:
    return read_index(context.namespace_id).revision
