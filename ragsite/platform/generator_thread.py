"""A synchronous generator whose items a coroutine reads.

The generator runs in a thread of its own, with the context variables of whoever made it. It may be
a few items ahead of its reader and then waits. A reader that stops, for whatever reason, sets
`cancelled`; the generator is closed in its own thread.
"""

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextvars import copy_context
from typing import Generic, TypeVar

from .threads import release_connections

T = TypeVar("T")

MAX_AHEAD = 64  # items
LOOK_EVERY = 0.25  # seconds, at `cancelled`, while the queue is full


class _ReaderGone(Exception):
    pass


class GeneratorThread(Generic[T]):
    """Read it once: by `items` from a coroutine, or by `iterate` in the calling thread.

    `close` may be called any number of times, from any thread. `on_end` is called once, when the
    generator has ended, or by `close` if it was never begun.
    """

    def __init__(
        self,
        start: Callable[[threading.Event], Iterator[T]],
        *,
        on_end: Callable[[], None] = lambda: None,
        max_ahead: int = MAX_AHEAD,
    ) -> None:
        self.cancelled = threading.Event()
        self._start, self._on_end = start, on_end
        self._context = copy_context()
        self._lock = threading.Lock()
        self._is_begun = self._is_ended = False
        self._room = threading.Semaphore(max_ahead)
        self._items: deque[T] = deque()
        self._error: BaseException | None = None
        self._is_exhausted = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._changed: asyncio.Event | None = None

    def close(self) -> None:
        self.cancelled.set()
        if self._begin():
            self._end()

    def iterate(self) -> Iterator[T]:
        """In this thread. No pooled database connection is kept from one item to the next."""
        if not self._begin():
            return
        try:
            generator = self._start(self.cancelled)
            try:
                release_connections()
                for item in generator:
                    release_connections()
                    yield item
            finally:
                if close := getattr(generator, "close", None):
                    close()
        finally:
            release_connections()
            self._end()

    async def items(self, *, every: float) -> AsyncIterator[T | None]:
        """The items, and None whenever none has come for `every` seconds. Raises what the
        generator raises. Always awaits: a generator that floods does not hold up the loop."""
        self._loop, self._changed = asyncio.get_running_loop(), asyncio.Event()
        thread = threading.Thread(target=self._context.run, args=(self._fill,), daemon=True)
        try:
            thread.start()
            while True:
                await asyncio.sleep(0)
                if self._items:
                    item = self._items.popleft()
                    self._room.release()
                    yield item
                elif self._is_exhausted:
                    break
                elif not await self._has_changed(every):
                    yield None
            if self._error is not None:
                raise self._error
        finally:
            self.close()

    async def _has_changed(self, seconds: float) -> bool:
        assert self._changed is not None
        try:
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        except TimeoutError:
            return False
        self._changed.clear()
        return True

    # -- in the thread -------------------------------------------------------------------

    def _fill(self) -> None:
        try:
            items = self.iterate()
            try:
                for item in items:
                    self._put(item)
            finally:
                items.close()  # type: ignore[attr-defined]
        except _ReaderGone:
            pass
        except BaseException as error:
            self._error = error
        self._is_exhausted = True
        self._wake_reader()

    def _put(self, item: T) -> None:
        while not self._room.acquire(timeout=LOOK_EVERY):
            if self.cancelled.is_set():
                raise _ReaderGone
        if self.cancelled.is_set():
            raise _ReaderGone
        self._items.append(item)
        self._wake_reader()

    def _wake_reader(self) -> None:
        assert self._loop is not None and self._changed is not None
        try:
            self._loop.call_soon_threadsafe(self._changed.set)
        except RuntimeError:  # the loop is closed, and its reader with it
            self.cancelled.set()

    # -- its two ends ----------------------------------------------------------------------

    def _begin(self) -> bool:
        """Whether it was the caller's to begin."""
        with self._lock:
            was_begun, self._is_begun = self._is_begun, True
        return not was_begun

    def _end(self) -> None:
        with self._lock:
            was_ended, self._is_ended = self._is_ended, True
        if not was_ended:
            self._on_end()
