"""The threads that requests run in, and the database connections those threads give back.

A thread takes a pooled connection with its first query and keeps it. A request must not keep one
while it waits for somebody else: for a client to read, for a job to end, for a slow web site.
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
    """Runs each piece of work in a free thread; there is always one, so nobody waits for another.

    As an executor it serves asgiref's `sync_to_async`: a stream has no thread of its own, it
    borrows one for each of its steps.
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
                # Also when nobody waits for the result any more because the client has gone.
                try:
                    release_connections()
                finally:
                    self._put_back(thread)

        return thread.submit(run)

    async def run(self, work: Callable[..., T], *args: Any) -> T:
        """In a thread, with this task's context variables."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self, copy_context().run, work, *args)

    def _put_back(self, thread: ThreadPoolExecutor) -> None:
        if len(self._idle) < self.max_idle:
            self._idle.append(thread)
        else:
            thread.shutdown(wait=False)
