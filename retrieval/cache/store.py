"""Django's cache as caching.py uses it: bounded entries, locks, and failures that are misses."""

import logging
import pickle
import secrets
import threading
from collections import Counter
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

from django.conf import settings
from django.core.cache import caches
from django.core.cache.backends.base import BaseCache
from django.core.cache.backends.dummy import DummyCache
from django.core.cache.backends.locmem import LocMemCache

from ragsite.platform.breaker import Breaker
from ragsite.platform.memory_cache import MemoryCache

logger = logging.getLogger(__name__)

MAX_ENTRY_BYTES = 256 * 1024  # bytes of one entry: their number is limited, so their size must be
LOCK_SECONDS = 15  # a process that dies while computing holds up the others no longer
PAUSE_SECONDS = 5.0  # a cache that failed is left alone so long
MISSING: Any = object()

counts: Counter[str] = Counter()  # "results.hit", "queries.down", …: since the process began
_counting = threading.Lock()


@cache
def _breaker(alias: str) -> Breaker:
    return Breaker(failures=1, pause=PAUSE_SECONDS)


class CacheStore:
    """One request's view of a cache: made for a single lookup, and remembers whether it failed."""

    def __init__(self, alias: str) -> None:
        self.alias = alias
        self.is_down = _breaker(alias).is_open
        self._token = secrets.token_hex(8)
        self._holds_lock = False

    def get(self, key: str) -> Any:
        """MISSING also for an entry that belongs to another key, whoever put it there."""
        kept = self._try(lambda: self._cache.get(key))
        try:
            if isinstance(kept, bytes):
                kept = pickle.loads(kept)  # noqa: S301  (signed where it leaves the process)
            own, value = kept
        except Exception:  # nothing there, or written by a release that pickled otherwise
            return MISSING
        return value if own == key else MISSING

    def set(self, key: str, value: Any, ttl: float) -> None:
        packed = pickle.dumps((key, value), pickle.HIGHEST_PROTOCOL)
        kept = (key, value) if isinstance(self._cache, MemoryCache) else packed
        if len(packed) <= MAX_ENTRY_BYTES:
            self._try(lambda: self._cache.set(key, kept, ttl))

    def lock(self, key: str) -> bool:
        """Whether it is for us to compute; where the cache is ours alone, it always is."""
        if self.is_down or isinstance(self._cache, LocMemCache | DummyCache):
            return True
        added = self._try(lambda: self._cache.add(_lock(key), self._token, LOCK_SECONDS))
        self._holds_lock = bool(added)
        return self._holds_lock or self.is_down

    def unlock(self, key: str) -> None:
        if self._holds_lock and self._try(lambda: self._cache.get(_lock(key))) == self._token:
            self._try(lambda: self._cache.delete(_lock(key)))

    def count(self, outcome: str) -> None:
        with _counting:
            counts[f"{self.alias}.{outcome}"] += 1

    @property
    def _cache(self) -> BaseCache:
        return _client(self.alias, AsItIs(settings.CACHES[self.alias]))

    def _try(self, act: Callable[[], Any]) -> Any:
        """What `act` gives, or None if the cache is down."""
        if self.is_down:
            return None
        try:
            done = act()
        except Exception as error:  # a driver has many; none of them is the caller's business
            self.is_down = True
            _breaker(self.alias).failed()
            # Not the error's own words: they may hold the server's address and password.
            fields = {"cache": self.alias, "error": type(error).__name__}
            logger.warning("cache.down", extra=fields)
            return None
        _breaker(self.alias).worked()
        return done


class AsItIs:
    """A setting to remember something by. It is the same while it is the same object: nobody
    changes one in place, and to write it out for each request takes longer than the rest."""

    __slots__ = ("setting",)

    def __init__(self, setting: Any) -> None:
        self.setting = setting

    def __hash__(self) -> int:
        return id(self.setting)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AsItIs) and self.setting is other.setting


@lru_cache(maxsize=8)
def _client(alias: str, described: AsItIs) -> BaseCache:
    """One for all threads. Django makes one per thread, and a thread here lives for a request:
    each would connect to Redis anew."""
    return caches.create_connection(alias)


def _lock(key: str) -> str:
    return f"lock:{key}"
