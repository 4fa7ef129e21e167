"""Django's cache with size limits and locks; failures count as misses."""

import logging
import secrets
import threading
from collections import Counter
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

import orjson
from django.conf import settings
from django.core.cache import caches
from django.core.cache.backends.base import BaseCache
from django.core.cache.backends.dummy import DummyCache
from django.core.cache.backends.locmem import LocMemCache

from ragsite.platform.breaker import Breaker
from ragsite.platform.memory_cache import MemoryCache

from .codec import encoded

logger = logging.getLogger(__name__)

MAX_ENTRY_BYTES = 256 * 1024  # only the number of entries is limited otherwise
LOCK_SECONDS = 15  # a process that dies while computing delays others no longer than this
PAUSE_SECONDS = 5.0  # without use of a cache that failed
MISSING: Any = object()

counts: Counter[str] = Counter()  # "results.hit", "queries.down", …, since the process started
_counting = threading.Lock()


@cache
def _breaker(alias: str) -> Breaker:
    return Breaker(failures=1, pause=PAUSE_SECONDS)


class CacheStore:
    """A cache as used by a single lookup; remembers whether it failed.

    In process memory values are stored as they are, elsewhere as JSON; `decode` rebuilds the value
    from JSON.
    """

    def __init__(self, alias: str, decode: Callable[[Any], Any] = lambda value: value) -> None:
        self.alias = alias
        self.decode = decode
        self.is_down = _breaker(alias).is_open
        self._token = secrets.token_bytes(8)
        self._holds_lock = False

    def get(self, key: str) -> Any:
        """Return MISSING if there is none or the entry belongs to another key."""
        entry = self._try(lambda: self._cache.get(key))
        if entry is None:
            return MISSING
        try:
            if not isinstance(entry, bytes):
                stored_key, value = entry
                return value if stored_key == key else MISSING
            stored_key, data = orjson.loads(entry)
            return self.decode(data) if stored_key == key else MISSING
        except Exception:  # written by another release
            return MISSING

    def set(self, key: str, value: Any, ttl: float) -> None:
        """Skips values that are too large, or that JSON cannot represent."""
        packed = encoded(key, value)
        if packed is None or len(packed) > MAX_ENTRY_BYTES:
            return
        entry = (key, value) if isinstance(self._cache, MemoryCache) else packed
        self._try(lambda: self._cache.set(key, entry, ttl))

    def lock(self, key: str) -> bool:
        """Whether this process computes the value; always True if the cache is not shared."""
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
        return _client(self.alias, ByIdentity(settings.CACHES[self.alias]))

    def _try(self, act: Callable[[], Any]) -> Any:
        """Return the result of `act`, or None if the cache is down."""
        if self.is_down:
            return None
        try:
            done = act()
        # drivers raise many kinds of errors, and callers do not distinguish them
        except Exception as error:
            self.is_down = True
            _breaker(self.alias).failed()
            # Not the error's message, which may contain the server's address and password.
            fields = {"cache": self.alias, "error": type(error).__name__}
            logger.warning("cache.down", extra=fields)
            return None
        _breaker(self.alias).worked()
        return done


class ByIdentity:
    """A setting as a cache key, equal if it is the same object: settings are never changed in
    place, and hashing their contents for each request would be too slow."""

    __slots__ = ("setting",)

    def __init__(self, setting: Any) -> None:
        self.setting = setting

    def __hash__(self) -> int:
        return id(self.setting)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ByIdentity) and self.setting is other.setting


@lru_cache(maxsize=8)
def _client(alias: str, described: ByIdentity) -> BaseCache:
    """Return one client for all threads. Django makes one per thread, and a thread here lives for
    one request, so each would open a new connection to Redis."""
    return caches.create_connection(alias)


def _lock(key: str) -> str:
    return f"lock:{key}"
