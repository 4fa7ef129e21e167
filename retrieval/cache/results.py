"""Search results and query vectors: computed once, kept for a while.

Many identical requests at once wait for one computation: within the process always, and between
processes where the cache is shared. A cache that is down is a miss; it never fails a search.
"""

import json
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import fields, is_dataclass
from functools import cache, lru_cache, partial
from typing import Any, Literal, TypeVar

from django.conf import settings

from retrieval import requests
from retrieval.requests import SearchRequest, SearchResult

from . import codec
from .fingerprints import fingerprint
from .single_flight import SingleFlight
from .store import MISSING, ByIdentity, CacheStore

T = TypeVar("T")
State = Literal["hit", "miss", "down"]  # "down": computed, because the cache does not answer

VERSION = 3  # raise it when ranking changes, so that the same request gets a new result
WAIT_SECONDS = 10.0  # for a computation in progress elsewhere, before starting one here
FIRST_POLL, LAST_POLL = 0.01, 0.2  # seconds, while another process computes

_flights = SingleFlight()
_bypassed: ContextVar[bool] = ContextVar("bypassed", default=False)


@contextmanager
def bypassed() -> Iterator[None]:
    """For measuring: everything in the block is computed, and nothing of it is kept."""
    token = _bypassed.set(True)
    try:
        yield
    finally:
        _bypassed.reset(token)


def search_cached(
    namespace_id: uuid.UUID,
    revision: int,
    profile_id: Any,
    request: SearchRequest,
    compute: Callable[[], SearchResult],
) -> tuple[SearchResult, State]:
    """Read `revision` before `compute` reads anything: then no result outlives its content.

    A degraded result, one with fallbacks, is returned but not kept.
    """
    described = fingerprint(VERSION, _shapes(), _ranking_settings(), profile_id, request)
    return get_or_compute(
        "results",
        f"{namespace_id}:{revision}:{described}",
        settings.CACHE_SECONDS["results"],
        compute,
        cacheable=_is_complete,
        decode=codec.search_result,
    )


def _is_complete(result: SearchResult) -> bool:
    return not result.diagnostics.fallbacks


def embed_query_cached(
    embedder_identity: str,
    query: str,
    compute: Callable[[], Sequence[float]],
    *,
    namespace_id: uuid.UUID,
) -> tuple[list[float], State]:
    """Per namespace: a fast response must not reveal to one tenant what another has asked."""
    key = f"{namespace_id}:{fingerprint(embedder_identity, query)}"
    seconds = settings.CACHE_SECONDS["queries"]
    return get_or_compute("queries", key, seconds, lambda: list(compute()))


def get_or_compute(
    alias: str,
    key: str,
    ttl: float,
    compute: Callable[[], T],
    *,
    cacheable: Callable[[T], bool] = lambda value: True,
    decode: Callable[[Any], T] = lambda value: value,
) -> tuple[T, State]:
    """What the cache `alias` keeps under `key`, or what `compute` returns; a `ttl` of 0 keeps
    nothing. An error of `compute` reaches all who wait for it, and the next caller tries again.
    `decode` makes the value of its JSON.

    Call it outside of transactions: it may wait.
    """
    if ttl <= 0 or _bypassed.get():
        return compute(), "miss"
    store = CacheStore(alias, decode)
    work = partial(_get_or_compute, store, key, ttl, compute, cacheable)
    (value, state), is_shared = _flights.do(f"{alias}:{key}", work, wait=WAIT_SECONDS)
    outcome: State = "hit" if is_shared and state == "miss" else state
    store.count(outcome)
    return value, outcome


def _get_or_compute(
    store: CacheStore,
    key: str,
    ttl: float,
    compute: Callable[[], T],
    cacheable: Callable[[T], bool],
) -> tuple[T, State]:
    kept = _kept_or_my_turn(store, key)
    if kept is not MISSING:
        return kept, "hit"
    try:
        value = compute()
        if cacheable(value):
            store.set(key, value, ttl)
    finally:
        store.unlock(key)
    return value, "down" if store.is_down else "miss"


def _kept_or_my_turn(store: CacheStore, key: str) -> Any:
    """The value as soon as any process has it; MISSING when this one must compute it."""
    patience = time.monotonic() + WAIT_SECONDS
    pause = FIRST_POLL
    while (kept := store.get(key)) is MISSING:
        if store.lock(key) or time.monotonic() > patience:
            return MISSING
        time.sleep(pause)
        pause = min(2 * pause, LAST_POLL)
    return kept


@cache
def _shapes() -> str:
    """The fields of what is kept: a release that changes them must not read the old entries."""
    kinds = (kind for kind in vars(requests).values() if isinstance(kind, type))
    return repr(
        [
            (kind.__name__, [(field.name, str(field.type)) for field in fields(kind)])
            for kind in kinds
            if is_dataclass(kind)
        ]
    )


def _ranking_settings() -> str:
    """What an operator may change between two identical requests; never a key."""
    return _described(*map(ByIdentity, (settings.SEARCH, settings.RERANK, settings.RERANKERS)))


@lru_cache(maxsize=4)
def _described(search: ByIdentity, rerank: ByIdentity, rerankers: ByIdentity) -> str:
    named = {
        name: {k: v for k, v in entry.get("OPTIONS", {}).items() if k != "key"}
        for name, entry in rerankers.setting.items()
    }
    return json.dumps([search.setting, rerank.setting, named], sort_keys=True, default=str)
