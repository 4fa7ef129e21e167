"""Many at once: the same call from several threads, let go at the same moment."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from django.db import connections

T = TypeVar("T")


def at_once(times: int, call: Callable[[int], T]) -> list[T]:
    barrier = threading.Barrier(times)

    def one(number: int) -> T:
        try:
            barrier.wait()
            return call(number)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(times) as pool:
        return list(pool.map(one, range(times)))
