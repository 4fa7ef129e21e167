"""Forgets a namespace's entries in every cache that this process can reach. Another process's own
memory is out of reach: what it keeps expires, and no key leads to it any more."""

import logging
from uuid import UUID

from django.conf import settings
from django.core.cache import caches
from django.core.cache.backends.locmem import LocMemCache
from django.core.cache.backends.redis import RedisCache

logger = logging.getLogger(__name__)


def clear_namespace(namespace_id: UUID) -> int:
    """How many entries were forgotten; a cache that is down is logged and left to expire."""
    forgotten = 0
    for alias in settings.CACHES:
        try:
            forgotten += _forget(caches[alias], str(namespace_id))
        except Exception as error:  # a driver has many; the rows are gone all the same
            # Not the error's own words: they may hold the server's address and password.
            logger.warning("cache.not_cleared", extra={"error": type(error).__name__})
    return forgotten


def _forget(cache: object, part: str) -> int:
    """Entries whose key holds the part."""
    if isinstance(cache, LocMemCache):
        with cache._lock:  # type: ignore[attr-defined]
            names = [name for name in cache._cache if part in name]  # type: ignore[attr-defined]
            for name in names:
                cache._delete(name)  # type: ignore[attr-defined]
        return len(names)
    if isinstance(cache, RedisCache):
        client = cache._cache.get_client(None, write=True)
        return sum(client.delete(name) for name in client.scan_iter(match=f"*{part}*", count=1000))
    return 0
