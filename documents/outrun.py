"""Returns at the deadline from work that cannot be interrupted: a model's step, a name lookup.

The work runs in a thread. At the deadline the caller leaves and the thread finishes its step alone,
then notices. There are only so many places, so however slow a model or a network is, no more than
that many threads are ever left behind.
"""

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class OutOfTime(Exception):
    """The deadline came first."""


class NoPlace(Exception):
    """Nobody could begin with it."""


class Outrun:
    def __init__(self, places: int) -> None:
        if places < 1:
            raise ValueError("there must be at least one place")
        self._places = places
        self._running = 0
        self._abandoned = 0
        self._changed = threading.Condition()

    @property
    def abandoned(self) -> int:
        return self._abandoned

    def run(self, work: Callable[[], T], *, deadline: float) -> T:
        self._take_place(deadline)
        call = _Call(work)
        self._start(call)
        if not call.done.wait(max(0.0, deadline - time.monotonic())):
            with self._changed:
                if not call.done.is_set():
                    call.is_abandoned = True
                    self._abandoned += 1
                    self._changed.notify_all()
                    raise OutOfTime("It was not done in time.")
        return call.result()

    def _take_place(self, deadline: float) -> None:
        with self._changed:
            while self._running >= self._places:
                if self._abandoned >= self._places:
                    raise NoPlace("It is still busy with work given up on.")
                if not self._changed.wait(max(0.0, deadline - time.monotonic())):
                    raise OutOfTime("It was busy until the time was over.")
            if time.monotonic() >= deadline:
                raise OutOfTime("There was no time left.")
            self._running += 1

    def _start(self, call: "_Call[T]") -> None:
        try:
            threading.Thread(target=self._do, args=(call,), name="outrun", daemon=True).start()
        except RuntimeError:  # the system gives no more threads
            with self._changed:
                self._running -= 1
            raise NoPlace("There is no thread left.") from None

    def _do(self, call: "_Call[T]") -> None:
        call.run()
        with self._changed:
            call.done.set()
            self._running -= 1
            self._abandoned -= call.is_abandoned
            self._changed.notify_all()


class _Call(Generic[T]):
    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._value: T | None = None
        self._error: BaseException | None = None
        self.done = threading.Event()
        self.is_abandoned = False

    def run(self) -> None:
        try:
            self._value = self._work()
        except BaseException as error:  # handed to the caller, wherever it came from
            self._error = error

    def result(self) -> T:
        if self._error is not None:
            raise self._error
        return self._value  # type: ignore[return-value]  # T itself may be None
