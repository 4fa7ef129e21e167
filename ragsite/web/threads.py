"""The threads that requests run in, and the release of their database connections.

A thread takes a pooled connection with its first query and keeps it. A request must not keep one
while it waits: for a client to read, a job to end, or a slow web site.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextvars import copy_context
from typing import Any, ParamSpec, TypeVar

from django.db import connections

P = ParamSpec("P")
T = TypeVar("T")

MAX_IDLE = 64  # threads kept for the next requests; more than that end


def release_connections() -> None:
    """Return this thread's connections to their pools, unless a transaction is open.

    Without a pool (commands, workers) the connection is kept: opening another would cost more.
    """
    for connection in connections.all(initialized_only=True):
        is_pooled = bool(connection.settings_dict.get("OPTIONS", {}).get("pool"))
        if is_pooled and not connection.in_atomic_block:
            connection.close()


class RequestThreads(Executor):
    """Runs each call in a free thread, or a new one if none is free, so that no call waits.

    Also an executor for asgiref's `sync_to_async`: a stream borrows a thread for each step.
    """

    def __init__(self, *, max_idle: int = MAX_IDLE) -> None:
        self.max_idle = max_idle
        self._idle: deque[ThreadPoolExecutor] = deque()  # of one thread each

    def submit(self, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        try:
            thread = self._idle.pop()
        except IndexError:
            thread = ThreadPoolExecutor(1, "request")

        def run() -> T:
            try:
                return work(*args, **kwargs)
            finally:
                # Also when the client has disconnected and nothing waits for the result.
                try:
                    release_connections()
                finally:
                    self._put_back(thread)

        return thread.submit(run)

    async def run(self, work: Callable[..., T], *args: Any) -> T:
        """Run `work` in a thread, with this task's context variables."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self, copy_context().run, work, *args)

    def _put_back(self, thread: ThreadPoolExecutor) -> None:
        if len(self._idle) < self.max_idle:
            self._idle.append(thread)
        else:
            thread.shutdown(wait=False)
