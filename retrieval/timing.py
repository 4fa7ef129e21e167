"""How long each stage of a search took."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass
class Clock:
    times_ms: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        started = time.perf_counter()
        yield
        self.since(stage, started)

    def since(self, stage: str, started: float) -> None:
        """Record a stage that is not one block; `started` is a time.perf_counter() value."""
        self.times_ms[stage] = round((time.perf_counter() - started) * 1000, 2)
