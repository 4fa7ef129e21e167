"""Reads from a replica that is recent enough, and from the primary otherwise.

Before each read the primary reports the version of the data to be read, and its position in the
write-ahead log. The replica is recent enough if it has that version, so that clients find what they
have written, whichever process responds; and if it has replayed what the primary had written
DATABASE_REPLICA_MAX_LAG_SECONDS ago. Positions are compared instead of timestamps, because on an
idle primary the age of the last replayed transaction grows although nothing is missing.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import TypeVar
from uuid import UUID

from django.conf import settings
from django.db import InterfaceError, OperationalError, connections
from psycopg.errors import SerializationFailure

from ragsite.platform.breaker import Breaker

from .tenancy import query_in_namespace, reading_from
from .timeouts import is_timeout

logger = logging.getLogger(__name__)

T = TypeVar("T")

SAMPLES = 20  # positions of the primary kept for the time that a replica may lag

_PRIMARY = """
    SELECT ({version}), (pg_current_wal_flush_lsn() - '0/0'::pg_lsn)::bigint
"""
# A replica that has been promoted is not behind.
_REPLICA = """
    SELECT ({version}), CASE WHEN pg_is_in_recovery()
                             THEN (pg_last_wal_replay_lsn() - '0/0'::pg_lsn)::bigint END
"""

_breaker = Breaker(failures=1, pause=30.0)  # seconds without another attempt


class PrimaryPositions:
    """The primary's recent positions with their times, for as long as a replica may lag behind."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._noted: deque[tuple[float, int]] = deque()

    def required(self, position: int, *, max_lag: float) -> int:
        """Record the primary's position, and return the one that a replica must have reached."""
        now = self._clock()
        with self._lock:
            while self._noted and self._noted[0][0] < now - max_lag:
                self._noted.popleft()
            if not self._noted or self._noted[-1][0] <= now - max_lag / SAMPLES:
                self._noted.append((now, position))
            return min(position, self._noted[0][1])


_positions = PrimaryPositions()


def read(work: Callable[[], T], *, namespace_id: UUID, version: str) -> tuple[T, str]:
    """Return the result of `work`, which must only read, and the fallback taken ("" if none).

    `version` is a query for one number, which is increased by every change of the data that is
    read; %(namespace)s is the namespace.
    """
    if "replica" not in connections:
        return work(), ""
    if _breaker.is_open:
        return work(), "primary: replica_unavailable"
    wanted, position = _ask(_PRIMARY, version, namespace_id)
    required = _positions.required(position or 0, max_lag=settings.DATABASE_REPLICA_MAX_LAG)
    try:
        with reading_from("replica"):
            found, replayed = _ask(_REPLICA, version, namespace_id)
            if _has(found, wanted) and (replayed is None or replayed >= required):
                result = work()
                _breaker.worked()
                return result, ""
    except (OperationalError, InterfaceError) as error:
        fallback = _fallback(error)
    else:
        fallback = "primary: replica_behind"
    return work(), fallback


def _has(found: int | None, wanted: int | None) -> bool:
    """None is the version of a namespace that does not exist."""
    return found is not None and found >= wanted if wanted is not None else found is None


def _ask(statement: str, version: str, namespace_id: UUID) -> tuple[int | None, int | None]:
    asked = statement.format(version=version)
    ((found, position),) = query_in_namespace(namespace_id, asked, {"namespace": namespace_id})
    return found, position


def _fallback(error: OperationalError | InterfaceError) -> str:
    """Name the reason to read from the primary; raise the error if it would not help."""
    if is_timeout(error):
        raise error  # the replica is available; the statement would take as long on the primary
    if isinstance(error.__cause__, SerializationFailure):
        # Rows being read have been vacuumed on the primary; the next read can succeed.
        logger.info("replica.conflict")
        return "primary: replica_conflict"
    _breaker.failed()
    connections["replica"].close()
    logger.warning("replica.fallback", exc_info=error)
    return "primary: replica_unavailable"
