"""Rerank in a thread that is abandoned at the deadline, in batches that stop before it."""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from documents.providers import deadline as deadlines
from retrieval.rerankers.base import RerankFailed, RerankTimeout, RerankUnavailable

T = TypeVar("T")
JUDGED_AFTER = 0.25  # fraction of the time; a model's first batches are often its slowest
HOPELESS = 2.0  # give up if the rest would take this many times the time left


class RerankRunner:
    """Every failure is a RerankFailed."""

    def __init__(self, capacity: int) -> None:
        self._runner = deadlines.DeadlineRunner(capacity)

    @property
    def abandoned(self) -> int:
        return self._runner.abandoned

    def run(self, work: Callable[[], T], *, deadline: float) -> T:
        try:
            return self._runner.run(work, deadline=deadline)
        except deadlines.DeadlineExceeded as error:
            raise RerankTimeout(str(error)) from None
        except deadlines.NoCapacity as error:
            raise RerankUnavailable(str(error)) from None
        except RerankFailed:
            raise
        except Exception as error:
            raise RerankFailed(f"The reranker failed ({type(error).__name__}).") from error


def batches(passages: Sequence[T], *, size: int, deadline: float) -> Iterator[Sequence[T]]:
    """Yield slices of the passages until the deadline has passed or cannot be met."""
    started = time.monotonic()
    for done in range(0, len(passages), size):
        now = time.monotonic()
        spent, left = now - started, deadline - now
        expected = spent / done * (len(passages) - done) if done else 0.0
        is_hopeless = spent > JUDGED_AFTER * (spent + left) and expected > HOPELESS * left
        if left <= 0 or is_hopeless:
            raise RerankTimeout(f"{done} of {len(passages)} passages in {spent:.2f} s.")
        yield passages[done : done + size]
