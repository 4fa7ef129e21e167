"""A circuit breaker: after some failures in a row, no calls are made for a while."""

import threading
import time
from collections.abc import Callable


class Breaker:
    def __init__(
        self, *, failures: int, pause: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._max_failures = failures
        self._pause = pause
        self._clock = clock
        self._lock = threading.Lock()
        self._failures = 0
        self._open_until = 0.0

    @property
    def is_open(self) -> bool:
        return self._clock() < self._open_until

    def failed(self) -> None:
        """Count a failure. After a pause, a single failure starts the next one."""
        with self._lock:
            self._failures += 1
            if self._failures >= self._max_failures:
                self._open_until = self._clock() + self._pause

    def worked(self) -> None:
        with self._lock:
            self._failures = 0
            self._open_until = 0.0
