"""Counts concurrent uses, in total and per owner, within this process."""

import threading
from collections import Counter
from collections.abc import Hashable
from enum import Enum


class SlotResult(Enum):
    TAKEN = "taken"
    OWNER_FULL = "owner_full"
    ALL_FULL = "all_full"


class Slots:
    """Safe to use from the event loop and from request threads. A total of None is no limit."""

    def __init__(self, *, per_owner: int, total: int | None = None) -> None:
        self.per_owner, self.total = per_owner, total
        self._open: Counter[Hashable] = Counter()
        self._lock = threading.Lock()

    def take(self, owner: Hashable) -> SlotResult:
        with self._lock:
            if self._open[owner] >= self.per_owner:
                return SlotResult.OWNER_FULL
            if self.total is not None and self._open.total() >= self.total:
                return SlotResult.ALL_FULL
            self._open[owner] += 1
            return SlotResult.TAKEN

    def give_back(self, owner: Hashable) -> None:
        with self._lock:
            self._open[owner] -= 1
            if self._open[owner] <= 0:
                del self._open[owner]  # keep no owner that has nothing open

    def count(self) -> int:
        with self._lock:
            return self._open.total()
