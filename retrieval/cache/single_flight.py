"""Deduplicate concurrent work: one caller does it, the others get its result."""

import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from typing import Any, TypeVar

from ragsite.web.threads import release_connections

T = TypeVar("T")


class SingleFlight:
    """Deduplicates between the threads of one process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._flights: dict[str, Future[Any]] = {}

    def do(self, name: str, work: Callable[[], T], *, wait: float) -> tuple[T, bool]:
        """Return the result, and whether another caller computed it. An error is raised in all
        callers.

        A caller that has waited too long, or for a thread that was stopped, does the work itself.
        """
        with self._lock:
            flight = self._flights.get(name)
            is_mine = flight is None
            if flight is None:
                flight = self._flights[name] = Future()
        if is_mine:
            return self._lead(name, flight, work), False
        if not flight.done():
            release_connections()
        try:
            return flight.result(timeout=wait), True
        except CancelledError:
            return work(), False
        except TimeoutError:
            if flight.done():  # raised by the work, not by waiting
                raise
            return work(), False

    def _lead(self, name: str, flight: "Future[T]", work: Callable[[], T]) -> T:
        try:
            value = work()
        except BaseException as error:
            self._land(name)
            if isinstance(error, Exception):
                flight.set_exception(error)
            else:  # this thread is being stopped, but not the others
                flight.cancel()
            raise
        self._land(name)
        flight.set_result(value)
        return value

    def _land(self, name: str) -> None:
        """Called before the result is returned: later callers find it in the cache, or start
        again."""
        with self._lock:
            del self._flights[name]
