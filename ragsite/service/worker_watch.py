"""Restarts the worker group when its heartbeat stops, because django-q2 does not always do so."""

import logging
import time
from collections.abc import Callable

logger = logging.getLogger(__name__)


class WorkerWatch:
    """Requests a heartbeat at each check and restarts workers that stay silent.

    After a database outage the last heartbeat is old, which does not mean that the workers are
    dead. Silence counts again once requests have reached the database for `silent_after` seconds.
    """

    def __init__(
        self,
        *,
        request_heartbeat: Callable[[], None],
        last_beat_age: Callable[[], float | None],
        restart: Callable[[], None],
        started_seconds_ago: Callable[[], float],
        silent_after: float = 20,
        grace: float = 30,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.request_heartbeat = request_heartbeat
        self.last_beat_age = last_beat_age
        self.restart = restart
        self.started_seconds_ago = started_seconds_ago
        self.silent_after = silent_after
        self.grace = grace
        self.clock = clock
        self._requesting_since: float | None = float("-inf")

    def check(self) -> None:
        try:
            self.request_heartbeat()
            age = self.last_beat_age()
        except Exception as error:  # whatever error the driver raises, it is not the workers' fault
            logger.warning("Cannot check the workers, the database is unavailable: %s", error)
            self._requesting_since = None
            return
        if self._requesting_since is None:
            self._requesting_since = self.clock()
        if self.started_seconds_ago() < self.grace:
            return
        silent = age is None or age > self.silent_after
        if silent and self.clock() - self._requesting_since >= self.silent_after:
            since = "yet" if age is None else f"for {age:.0f} s"
            logger.error("No heartbeat from the workers %s: restarting all of them", since)
            self.restart()
