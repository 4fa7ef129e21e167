"""Restarts the worker group when its heart stops: django-q2 cannot be trusted to."""

import logging
import time
from collections.abc import Callable

logger = logging.getLogger(__name__)


class WorkerWatch:
    """Rings for a heartbeat at each check, and restarts workers that stay silent.

    After a database that was away the last beat is old, and says nothing about the workers: then
    silence counts again once our rings have got through for as long as an answer may take.
    """

    def __init__(
        self,
        *,
        ring: Callable[[], None],
        last_beat_age: Callable[[], float | None],
        restart: Callable[[], None],
        started_seconds_ago: Callable[[], float],
        silent_after: float = 20,
        grace: float = 30,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.ring = ring
        self.last_beat_age = last_beat_age
        self.restart = restart
        self.started_seconds_ago = started_seconds_ago
        self.silent_after = silent_after
        self.grace = grace
        self.clock = clock
        self._ringing_since: float | None = float("-inf")

    def check(self) -> None:
        try:
            self.ring()
            age = self.last_beat_age()
        except Exception as error:  # whatever the driver raises, it is not the workers' fault
            logger.warning("No news of the workers, the database is away: %s", error)
            self._ringing_since = None
            return
        if self._ringing_since is None:
            self._ringing_since = self.clock()
        if self.started_seconds_ago() < self.grace:
            return
        silent = age is None or age > self.silent_after
        if silent and self.clock() - self._ringing_since >= self.silent_after:
            heard = "ever" if age is None else f"for {age:.0f} s"
            logger.error("No heartbeat of the workers %s: restarting all of them", heard)
            self.restart()
