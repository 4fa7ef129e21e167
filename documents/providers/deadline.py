"""Enforce a deadline on work that cannot be interrupted: a step of a model, a name lookup.

The work runs in a thread. At the deadline the caller leaves, and the thread finishes its step
alone. `capacity` limits the number of threads, so that a slow model or network never leaves more
than that many running.
"""

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")
CANCEL_POLL = 0.1  # seconds between two checks of `cancelled`


class DeadlineExceeded(Exception):
    """The work was not done by the deadline."""


class NoCapacity(Exception):
    """All threads are busy with abandoned work."""


class RunCancelled(Exception):
    """The caller no longer wants the result."""


class DeadlineRunner:
    def __init__(self, capacity: int) -> None:
        if capacity < 1:
            raise ValueError("capacity must be 1 or more")
        self._capacity = capacity
        self._running = 0
        self._abandoned = 0
        self._changed = threading.Condition()

    @property
    def abandoned(self) -> int:
        return self._abandoned

    def run(
        self,
        work: Callable[[], T],
        *,
        deadline: float,
        cancelled: threading.Event | None = None,
        discard: Callable[[T], None] | None = None,
    ) -> T:
        """Run `work` and return its result. `discard` gets a result that arrives after the
        deadline."""
        self._start_or_wait(deadline, cancelled)
        call = _Call(work, discard)
        self._start(call)
        while not call.done.wait(_step(deadline, cancelled)):
            is_cancelled = cancelled is not None and cancelled.is_set()
            if not is_cancelled and time.monotonic() < deadline:
                continue
            if self._abandon(call):
                raise RunCancelled if is_cancelled else DeadlineExceeded("It was not done in time.")
        return call.result()

    def _abandon(self, call: "_Call[T]") -> bool:
        """Return False if the call finished at the last moment."""
        with self._changed:
            if call.done.is_set():
                return False
            call.is_abandoned = True
            self._abandoned += 1
            self._changed.notify_all()
            return True

    def _start_or_wait(self, deadline: float, cancelled: threading.Event | None) -> None:
        with self._changed:
            while self._running >= self._capacity:
                if self._abandoned >= self._capacity:
                    raise NoCapacity("It is still busy with work given up on.")
                self._changed.wait(_step(deadline, cancelled))
                if cancelled is not None and cancelled.is_set():
                    raise RunCancelled
                if time.monotonic() >= deadline:
                    raise DeadlineExceeded("It was busy until the time was over.")
            if time.monotonic() >= deadline:
                raise DeadlineExceeded("There was no time left.")
            self._running += 1

    def _start(self, call: "_Call[T]") -> None:
        try:
            threading.Thread(target=self._do, args=(call,), name="deadline", daemon=True).start()
        except RuntimeError:  # the system cannot start more threads
            with self._changed:
                self._running -= 1
            raise NoCapacity("There is no thread left.") from None

    def _do(self, call: "_Call[T]") -> None:
        call.run()
        with self._changed:
            call.done.set()
            self._running -= 1
            self._abandoned -= call.is_abandoned
            self._changed.notify_all()
        if call.is_abandoned:
            call.discard()


def _step(deadline: float, cancelled: threading.Event | None) -> float:
    left = max(0.0, deadline - time.monotonic())
    return left if cancelled is None else min(left, CANCEL_POLL)


class _Call(Generic[T]):
    def __init__(self, work: Callable[[], T], discard: Callable[[T], None] | None) -> None:
        self._work = work
        self._discard = discard
        self._value: T | None = None
        self._error: BaseException | None = None
        self.done = threading.Event()
        self.is_abandoned = False

    def run(self) -> None:
        try:
            self._value = self._work()
        except BaseException as error:  # raised in the caller's thread
            self._error = error

    def result(self) -> T:
        if self._error is not None:
            raise self._error
        return self._value  # type: ignore[return-value]  # T itself may be None

    def discard(self) -> None:
        if self._discard is not None and self._error is None:
            self._discard(self._value)  # type: ignore[arg-type]
