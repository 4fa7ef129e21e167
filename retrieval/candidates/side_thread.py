"""Threads with their own database connections, for the half of a search that can run in parallel.

Their connections are not from the pool: a request holds a pooled connection while it waits, so many
requests at once would deadlock.
"""

import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from typing import ParamSpec, TypeVar

from django.conf import settings
from django.db import OperationalError, connections

from ragsite.database.tenancy import current_connection
from ragsite.database.timeouts import is_timeout

P = ParamSpec("P")
T = TypeVar("T")


def start(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> "Future[T]":
    """Start the work in another thread, or run it here if all threads are busy."""
    free = _free()
    if not free.acquire(blocking=False):
        return _done_here(work, *args, **kwargs)
    context = contextvars.copy_context()

    def run() -> T:
        return context.run(lambda: _with_live_connection(work, *args, **kwargs))

    future = _threads().submit(run)
    future.add_done_callback(lambda _: free.release())
    return future


def disable() -> None:
    """From now on run all work in the calling thread, for processes that must not keep
    connections."""
    while _free().acquire(blocking=False):
        pass


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(
        settings.SEARCH["side_threads"], "search-side", initializer=_own_connections
    )


@cache
def _free() -> threading.Semaphore:
    return threading.Semaphore(settings.SEARCH["side_threads"])


def _done_here(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> "Future[T]":
    future: Future[T] = Future()
    try:
        future.set_result(work(*args, **kwargs))
    except Exception as error:
        future.set_exception(error)
    return future


def _own_connections() -> None:
    for alias in ("default", "replica"):
        if alias in connections:
            own = connections[alias].copy()
            options = own.settings_dict["OPTIONS"]
            own.settings_dict["OPTIONS"] = {k: v for k, v in options.items() if k != "pool"}
            own.settings_dict["CONN_MAX_AGE"] = None
            connections[alias] = own


def _with_live_connection(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Retry on a new connection if the old one has died since it was last used."""
    connection = current_connection()
    was_open = connection.connection is not None
    try:
        return work(*args, **kwargs)
    except OperationalError as error:
        connection.close()
        if not was_open or is_timeout(error):
            raise
        return work(*args, **kwargs)
