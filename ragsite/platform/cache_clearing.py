"""Deletes a namespace's entries from every cache that this process can reach.

Entries in another process's memory expire on their own; no key leads to them any more.
"""

import logging
from uuid import UUID

from django.conf import settings
from django.core.cache import caches
from django.core.cache.backends.locmem import LocMemCache
from django.core.cache.backends.redis import RedisCache

logger = logging.getLogger(__name__)


def clear_namespace(namespace_id: UUID) -> int:
    """Return how many entries were deleted; a failing cache is logged, and its entries expire."""
    deleted = 0
    for alias in settings.CACHES:
        try:
            deleted += _delete_entries(caches[alias], str(namespace_id))
        # drivers raise many kinds of errors, and the rows are deleted anyway
        except Exception as error:
            # Not the error's message, which may contain the server's address and password.
            logger.warning("cache.not_cleared", extra={"error": type(error).__name__})
    return deleted


def _delete_entries(cache: object, part: str) -> int:
    """Delete the entries whose key contains `part`; return how many."""
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
