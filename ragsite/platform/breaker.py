"""Stops asking what keeps failing: after some failures in a row, nobody asks for a while."""

import threading
import time
from collections.abc import Callable


class Breaker:
    def __init__(
        self, *, failures: int, pause: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._allowed = failures
        self._pause = pause
        self._clock = clock
        self._lock = threading.Lock()
        self._failures = 0
        self._closed_again = 0.0

    @property
    def is_open(self) -> bool:
        return self._clock() < self._closed_again

    def failed(self) -> None:
        """After a pause a single failure is enough for the next one."""
        with self._lock:
            self._failures += 1
            if self._failures >= self._allowed:
                self._closed_again = self._clock() + self._pause

    def worked(self) -> None:
        with self._lock:
            self._failures = 0
            self._closed_again = 0.0
