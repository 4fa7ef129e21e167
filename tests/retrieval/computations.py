"""What caches are given to compute in tests."""

import threading
import time
from typing import Any

from retrieval.requests import Diagnostics, SearchResult


def answer(*fallbacks: str, context: str = "1240 degrees") -> SearchResult:
    diagnostics = Diagnostics(
        profile="default",
        mode="hybrid",
        fusion="weighted",
        ann_k=1,
        lexical_k=1,
        dense_plan="exact",
        reranker="none",
        fallbacks=fallbacks,
        notes=(),
        dropped=(),
    )
    return SearchResult("kiln", (), context, 3, diagnostics)


class Counting:
    """A computation that takes a moment and says how often it was done."""

    def __init__(self, value: Any = 42, seconds: float = 0.0) -> None:
        self.value, self.seconds, self.times = value, seconds, 0
        self._lock = threading.Lock()

    def __call__(self) -> Any:
        with self._lock:
            self.times += 1
        time.sleep(self.seconds)
        if isinstance(self.value, BaseException):
            raise self.value
        return self.value
