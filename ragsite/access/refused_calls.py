"""Remembers keys that have used up a rate limit, so that refusing them again costs no look-up.

In this process's memory and for a few seconds at most: whether a call is admitted is decided by the
count that all processes share. While a count refuses, no process admits anything that it counts, so
a refusal holds until the limit has room again.
"""

import hashlib
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from .rate_limits import Admission

MAX_SECONDS = 5.0  # a raised limit or a revoked key takes effect after so long at the latest
MAX_CALLS = 1000

Headers = Mapping[str, str]
Call = tuple[str, str, str]  # hash of the Authorization header, method, path


@dataclass(frozen=True, slots=True)
class RefusedCall:
    admission: Admission
    headers: Headers  # of the response, which do not change while it is refused


@dataclass(frozen=True, slots=True)
class _Remembered:
    refused: RefusedCall
    until: float
    has_room_at: float


def call_of(authorization: str, method: str, path: str) -> Call:
    return hashlib.sha256(authorization.encode()).hexdigest(), method, path


class RefusedCalls:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._calls: dict[Call, _Remembered] = {}

    @property
    def is_empty(self) -> bool:
        return not self._calls

    def remember(self, call: Call, admission: Admission, headers: Headers) -> None:
        now = self._clock()
        until = now + min(MAX_SECONDS, admission.wait)
        known = _Remembered(RefusedCall(admission, headers), until, now + admission.wait)
        with self._lock:
            if len(self._calls) >= MAX_CALLS:
                self._calls = {c: kept for c, kept in self._calls.items() if kept.until > now}
            if len(self._calls) < MAX_CALLS:
                self._calls[call] = known

    def find(self, call: Call) -> RefusedCall | None:
        """Return the refusal with the seconds that are left, or None if the count has to decide."""
        known = self._calls.get(call)
        if known is None:
            return None
        now = self._clock()
        if now >= known.until:
            with self._lock:
                if self._calls.get(call) is known:
                    del self._calls[call]
            return None
        left = replace(known.refused.admission, wait=known.has_room_at - now)
        return replace(known.refused, admission=left)


refused_calls = RefusedCalls()
