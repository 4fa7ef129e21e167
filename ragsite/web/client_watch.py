"""Lets a synchronous view that takes long notice that its client has left."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from ragsite.platform.asgi_types import Receive

TICK_SECONDS = 0.5

_watch: ContextVar["ClientWatch | None"] = ContextVar("client_watch", default=None)


class ClientWatch:
    """One for each request, made by the handler. It costs nothing until a view asks for it."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._loop = asyncio.get_running_loop()
        self._task: asyncio.Task[None] | None = None
        self._is_over = False

    def start(self, *, on_leave: Callable[[], None], on_tick: Callable[[], object]) -> None:
        """From the view's thread. Both are called in the event loop, so they must be quick."""
        self._loop.call_soon_threadsafe(self._start, on_leave, on_tick)

    def _start(self, on_leave: Callable[[], None], on_tick: Callable[[], object]) -> None:
        if not self._is_over:
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
    """None where no server of ours serves the request, as in tests of views."""
    return _watch.get()
