"""Counts requests across all processes: in Redis if CACHE_URL is set, otherwise in PostgreSQL.

While Redis is down, PostgreSQL counts, starting at zero.
"""

import logging
import time
from functools import lru_cache
from typing import Any

from django.conf import settings

from ragsite.database.tenancy import query_prepared
from ragsite.platform.breaker import Breaker

from .rate_limits import WINDOW_SECONDS, Count, fits

logger = logging.getLogger(__name__)

TIMEOUT_SECONDS = 0.25
_breaker = Breaker(failures=1, pause=5.0)


def count(bucket: str, limit: int) -> Count:
    """Count a request, unless the bucket's limit is used up."""
    return count_in_redis(bucket, limit) or count_in_postgres(bucket, limit)


def uses_postgres() -> bool:
    return not settings.CACHE_URL or _breaker.is_open


def count_in_postgres(bucket: str, limit: int) -> Count:
    rows = query_prepared(
        "SELECT is_allowed, previous, current, elapsed "
        "FROM ragsite.count_request(%(bucket)s, %(limit)s, %(window)s)",
        {"bucket": bucket, "limit": limit, "window": WINDOW_SECONDS},
    )
    return Count(*rows[0])


def count_in_redis(bucket: str, limit: int) -> Count | None:
    """Return None if there is no Redis or it does not respond."""
    if uses_postgres():
        return None
    windows = time.time() / WINDOW_SECONDS
    window = int(windows)
    elapsed = windows - window
    key = f"ragsite-rate:{bucket}"
    try:
        client = _client(settings.CACHE_URL)
        with client.pipeline(transaction=True) as pipeline:
            pipeline.incr(f"{key}:{window}")
            pipeline.expire(f"{key}:{window}", int(2 * WINDOW_SECONDS) + 1)
            pipeline.get(f"{key}:{window - 1}")
            current, _, previous = pipeline.execute()
        is_allowed = fits(int(previous or 0), current, elapsed, limit)
        if not is_allowed:  # a refused request does not count
            current = client.decr(f"{key}:{window}")
    # drivers raise many kinds of errors, and callers do not distinguish them
    except Exception as error:
        _breaker.failed()
        # Not the error's message, which may contain the server's address and password.
        logger.warning("rate_limits.redis_down", extra={"error": type(error).__name__})
        return None
    _breaker.worked()
    return Count(is_allowed, int(previous or 0), current, elapsed)


@lru_cache(maxsize=4)
def _client(url: str) -> Any:
    import redis

    return redis.Redis.from_url(
        url, socket_connect_timeout=TIMEOUT_SECONDS, socket_timeout=TIMEOUT_SECONDS
    )


def delete_old_counts() -> None:
    """Delete expired counts from PostgreSQL; called regularly. Redis expires its own."""
    query_prepared("SELECT ragsite.forget_request_counts()", {})
