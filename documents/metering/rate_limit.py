"""One rate limit per provider for all processes on all hosts, stored in a database row.

Each call starts at the `next_at` it finds and advances it by its share of the provider's limits. A
Retry-After advances `blocked_until` for all callers. Queries do not wait behind documents: they
count towards the limit, but only `blocked_until` delays them.
"""

import threading
import time

from django.db import connections

TAKE_TURN = """
INSERT INTO documents_providerpace AS pace (provider, next_at, blocked_until)
VALUES (%(provider)s, clock_timestamp() + make_interval(secs => %(cost)s), clock_timestamp())
ON CONFLICT (provider) DO UPDATE
SET next_at = greatest(pace.next_at, {start}) + make_interval(secs => %(cost)s)
WHERE {start} <= clock_timestamp() + make_interval(secs => %(patience)s)
RETURNING extract(epoch FROM {found} - clock_timestamp())::float8
"""
QUEUED = TAKE_TURN.format(
    start="greatest(pace.next_at, pace.blocked_until, clock_timestamp())",
    found="greatest(next_at - make_interval(secs => %(cost)s), blocked_until)",
)
URGENT = TAKE_TURN.format(
    start="greatest(pace.blocked_until, clock_timestamp())", found="blocked_until"
)
BLOCK = """
INSERT INTO documents_providerpace AS pace (provider, next_at, blocked_until)
VALUES (%(provider)s, clock_timestamp(), clock_timestamp() + make_interval(secs => %(seconds)s))
ON CONFLICT (provider) DO UPDATE
SET blocked_until = greatest(pace.blocked_until, excluded.blocked_until)
"""
MAX_BLOCK_SECONDS = 3600.0  # upper limit for any Retry-After


class SharedRateLimiter:
    """A provider's rate limit, shared through the database."""

    def __init__(
        self, provider: str, *, requests_per_minute: float = 0, tokens_per_minute: float = 0
    ) -> None:
        self._provider = provider
        self._seconds_per_request = 60 / requests_per_minute if requests_per_minute else 0.0
        self._seconds_per_token = 60 / tokens_per_minute if tokens_per_minute else 0.0

    def wait(self, tokens: int, *, deadline: float, is_urgent: bool) -> bool:
        values: dict[str, str | float] = {
            "provider": self._provider,
            "cost": max(self._seconds_per_request, tokens * self._seconds_per_token),
            "patience": deadline - time.monotonic(),
        }
        delay = self._execute(URGENT if is_urgent else QUEUED, values)
        if delay is None:
            return False
        time.sleep(max(0.0, delay))
        return True

    def back_off(self, seconds: float) -> None:
        self._execute(
            BLOCK, {"provider": self._provider, "seconds": min(seconds, MAX_BLOCK_SECONDS)}
        )

    def _execute(self, statement: str, values: dict[str, str | float]) -> float | None:
        connection = connections["default"]  # never a replica, which is read-only
        try:
            with connection.cursor() as cursor:
                cursor.execute(statement, values)
                row = cursor.fetchone() if cursor.description else None
            return None if row is None else float(row[0])
        finally:
            is_main = threading.current_thread() is threading.main_thread()
            if not is_main and not connection.in_atomic_block:
                connection.close()  # the connection would stay open when the thread ends
