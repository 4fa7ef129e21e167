"""Cache search results and query vectors, and compute each only once.

Concurrent identical requests wait for one computation: always within the process, and between
processes if the cache is shared. A cache that is down counts as a miss; it never fails a search.
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
CacheState = Literal["hit", "miss", "down"]  # "down": computed, because the cache does not respond

VERSION = 4  # increase when ranking changes, so that the same request gets a new result
WAIT_SECONDS = 10.0  # for a computation in progress elsewhere, before starting one here
FIRST_POLL, LAST_POLL = 0.01, 0.2  # seconds, while another process computes

_flights = SingleFlight()
_bypassed: ContextVar[bool] = ContextVar("bypassed", default=False)


@contextmanager
def bypassed() -> Iterator[None]:
    """For measurements: compute everything in the block, and cache nothing."""
    token = _bypassed.set(True)
    try:
        yield
    finally:
        _bypassed.reset(token)


def search_cached(
    namespace_id: uuid.UUID,
    revision: int | str,
    profile_id: Any,
    request: SearchRequest,
    compute: Callable[[], SearchResult],
) -> tuple[SearchResult, CacheState]:
    """Read `revision` before `compute` reads anything, so that no result outlives its content.

    A degraded result, one with fallbacks, is returned but not cached.
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
) -> tuple[list[float], CacheState]:
    """Cached per namespace: a fast response must not reveal to a tenant what another one has
    asked."""
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
) -> tuple[T, CacheState]:
    """Return the value cached under `key` in the cache `alias`, or the result of `compute`; a `ttl`
    of 0 caches nothing. An error of `compute` is raised in all waiting callers, and the next caller
    tries again. `decode` rebuilds the value from its JSON.

    Call it outside of transactions: it may wait.
    """
    if ttl <= 0 or _bypassed.get():
        return compute(), "miss"
    store = CacheStore(alias, decode)
    work = partial(_get_or_compute, store, key, ttl, compute, cacheable)
    (value, state), is_shared = _flights.do(f"{alias}:{key}", work, wait=WAIT_SECONDS)
    outcome: CacheState = "hit" if is_shared and state == "miss" else state
    store.count(outcome)
    return value, outcome


def _get_or_compute(
    store: CacheStore,
    key: str,
    ttl: float,
    compute: Callable[[], T],
    cacheable: Callable[[T], bool],
) -> tuple[T, CacheState]:
    cached = _wait_for_value(store, key)
    if cached is not MISSING:
        return cached, "hit"
    try:
        value = compute()
        if cacheable(value):
            store.set(key, value, ttl)
    finally:
        store.unlock(key)
    return value, "down" if store.is_down else "miss"


def _wait_for_value(store: CacheStore, key: str) -> Any:
    """Return the value as soon as any process has it; MISSING if this process must compute it."""
    patience = time.monotonic() + WAIT_SECONDS
    pause = FIRST_POLL
    while (value := store.get(key)) is MISSING:
        if store.lock(key) or time.monotonic() > patience:
            return MISSING
        time.sleep(pause)
        pause = min(2 * pause, LAST_POLL)
    return value


@cache
def _shapes() -> str:
    """Return the fields of cached values: a release that changes them must not read old entries."""
    kinds = (kind for kind in vars(requests).values() if isinstance(kind, type))
    return repr(
        [
            (kind.__name__, [(field.name, str(field.type)) for field in fields(kind)])
            for kind in kinds
            if is_dataclass(kind)
        ]
    )


def _ranking_settings() -> str:
    """Return the settings an operator may change between two identical requests; never a key."""
    return _described(*map(ByIdentity, (settings.SEARCH, settings.RERANK, settings.RERANKERS)))


@lru_cache(maxsize=4)
def _described(search: ByIdentity, rerank: ByIdentity, rerankers: ByIdentity) -> str:
    named = {
        name: {k: v for k, v in entry.get("OPTIONS", {}).items() if k != "key"}
        for name, entry in rerankers.setting.items()
    }
    return json.dumps([search.setting, rerank.setting, named], sort_keys=True, default=str)
