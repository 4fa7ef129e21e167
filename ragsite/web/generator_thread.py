"""A synchronous generator whose items are read by a coroutine.

The generator runs in its own thread, with the context variables of its creator. It may be a few
items ahead of its reader and then waits. When the reader stops, for whatever reason, `cancelled` is
set and the generator is closed in its own thread.
"""

import asyncio
import threading
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterator
from contextvars import copy_context
from functools import partial
from typing import Generic, TypeVar

from .threads import release_connections

T = TypeVar("T")

MAX_AHEAD = 64  # items
POLL_SECONDS = 0.25  # how often `cancelled` is checked while the queue is full


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

    def close(self) -> None:
        self.cancelled.set()
        if self._begin():
            self._end()

    def iterate(self) -> Iterator[T]:
        """Run the generator in this thread, without keeping a pooled connection between items."""
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

    async def items(self, *, every: float) -> AsyncGenerator[T | None]:
        """Yield the items, and None whenever none has come for `every` seconds.

        Raises what the generator raises. Awaits before each item, so that a fast generator does not
        block the event loop.
        """
        changed = asyncio.Event()
        wake = partial(asyncio.get_running_loop().call_soon_threadsafe, changed.set)
        thread = threading.Thread(target=self._context.run, args=(self._fill, wake), daemon=True)
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
                elif not await _is_set(changed, every):
                    yield None
            if self._error is not None:
                raise self._error
        finally:
            self.close()

    # -- in the thread -------------------------------------------------------------------

    def _fill(self, wake: Callable[[], object]) -> None:
        try:
            items = self.iterate()
            try:
                for item in items:
                    self._put(item)
                    self._wake(wake)
            finally:
                items.close()  # type: ignore[attr-defined]
        except _ReaderGone:
            pass
        except BaseException as error:
            self._error = error
        self._is_exhausted = True
        self._wake(wake)

    def _put(self, item: T) -> None:
        while not self._room.acquire(timeout=POLL_SECONDS):
            if self.cancelled.is_set():
                raise _ReaderGone
        if self.cancelled.is_set():
            raise _ReaderGone
        self._items.append(item)

    def _wake(self, wake: Callable[[], object]) -> None:
        try:
            wake()
        except RuntimeError:  # the loop is closed, so there is no reader
            self.cancelled.set()

    # -- its two ends ----------------------------------------------------------------------

    def _begin(self) -> bool:
        """Mark the generator as begun; False if it already was."""
        with self._lock:
            was_begun, self._is_begun = self._is_begun, True
        return not was_begun

    def _end(self) -> None:
        with self._lock:
            was_ended, self._is_ended = self._is_ended, True
        if not was_ended:
            self._on_end()


async def _is_set(event: asyncio.Event, seconds: float) -> bool:
    """Whether the event is set within so many seconds; clears it."""
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return False
    event.clear()
    return True
