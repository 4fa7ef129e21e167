"""Lets a slow synchronous view notice that its client has disconnected."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from ragsite.platform.asgi_types import Receive

TICK_SECONDS = 0.5

_watch: ContextVar["ClientWatch | None"] = ContextVar("client_watch", default=None)


class ClientWatch:
    """Created by the handler for each request; costs nothing until a view starts it."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._loop = asyncio.get_running_loop()
        self._task: asyncio.Task[None] | None = None
        self._on_leave: Callable[[], None] | None = None
        self._is_over = self._has_left = False

    def start(self, *, on_leave: Callable[[], None], on_tick: Callable[[], object]) -> None:
        """Start watching, from the view's thread. The callbacks run in the event loop."""
        self._loop.call_soon_threadsafe(self._start, on_leave, on_tick)

    def leave(self) -> None:
        """Report that the client has left, for callers that notice it in another way than by
        listening."""
        self._has_left = True
        if self._on_leave is not None:
            self._on_leave()

    def _start(self, on_leave: Callable[[], None], on_tick: Callable[[], object]) -> None:
        self._on_leave = on_leave
        if self._has_left:
            on_leave()
        elif not self._is_over:
            self._task = self._loop.create_task(self._look(on_leave, on_tick))

    async def _look(self, on_leave: Callable[[], None], on_tick: Callable[[], object]) -> None:
        leaving = asyncio.ensure_future(self._receive())
        try:
            while not (await asyncio.wait([leaving], timeout=TICK_SECONDS))[0]:
                on_tick()
            on_leave()
        finally:
            leaving.cancel()

    async def stop(self) -> None:
        self._is_over = True
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)


@contextmanager
def watched(watch: ClientWatch) -> Iterator[None]:
    token = _watch.set(watch)
    try:
        yield
    finally:
        _watch.reset(token)


def current_watch() -> ClientWatch | None:
    """Return this request's watch; None outside of our handler, as in tests of views."""
    return _watch.get()
