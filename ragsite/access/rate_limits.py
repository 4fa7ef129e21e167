"""How many requests per minute a caller may make, by class of route, and the RateLimit headers.

Requests are counted in a sliding window: this minute plus the remaining share of the previous one.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ragsite.platform.errors import ApiError

RATE_CLASSES = ("search", "answer", "ingest", "read", "write", "admin", "agent", "link")
WINDOW_SECONDS = 60.0
MAX_RATE = 1_000_000  # requests a minute

# For views that read with GET and write with everything else.
BY_METHOD: Mapping[str, str] = {
    **dict.fromkeys(("GET", "HEAD", "OPTIONS"), "read"),
    **dict.fromkeys(("POST", "PUT", "PATCH", "DELETE"), "write"),
}


@dataclass(frozen=True, slots=True)
class Count:
    """Requests of one bucket in this window and the previous one, and how far this window is."""

    is_allowed: bool
    previous: int
    current: int  # includes this request if it is allowed
    elapsed: float  # from 0 to 1


@dataclass(frozen=True, slots=True)
class Admission:
    """Whether a request may pass, and how much of its limit is left."""

    rate_class: str
    limit: int
    is_allowed: bool
    remaining: int
    wait: float  # seconds until the window ends or, if refused, until a request is admitted again

    @property
    def reset_seconds(self) -> int:
        return max(1, math.ceil(self.wait))

    @property
    def headers(self) -> dict[str, str]:
        return {
            "RateLimit-Limit": str(self.limit),
            "RateLimit-Remaining": str(self.remaining),
            "RateLimit-Reset": str(self.reset_seconds),
            "RateLimit-Policy": f'{self.limit};w={WINDOW_SECONDS:.0f};name="{self.rate_class}"',
        }


class RateLimited(ApiError):
    def __init__(
        self,
        message: str,
        *,
        retry_after: int,
        details: Any = None,
        admission: Admission | None = None,
    ) -> None:
        super().__init__(
            "rate_limited", message, http_status=429, details=details, retry_after=retry_after
        )
        self.admission = admission


def fits(previous: int, current: int, elapsed: float, limit: int) -> bool:
    """Whether the request that raised the count to `current` is within the limit."""
    return previous * (1 - elapsed) + current <= limit


def admission(rate_class: str, limit: int, count: Count) -> Admission:
    if count.is_allowed:
        left = limit - count.previous * (1 - count.elapsed) - count.current
        wait = (1 - count.elapsed) * WINDOW_SECONDS
    else:
        left, wait = 0.0, _wait(limit, count) * WINDOW_SECONDS
    return Admission(
        rate_class=rate_class,
        limit=limit,
        is_allowed=count.is_allowed,
        remaining=max(0, math.floor(left)),
        wait=wait,
    )


def _wait(limit: int, count: Count) -> float:
    """Return the time until one more request fits, in windows."""
    if count.current < limit:  # only the previous window's share exceeds the limit, and it shrinks
        at = 1 - (limit - count.current - 1) / max(count.previous, 1)
        return max(0.0, at - count.elapsed)
    return 1 - count.elapsed + max(0.0, 1 - (limit - 1) / count.current)


def require(admitted: Admission) -> None:
    """Raise RateLimited if the request is not allowed."""
    if not admitted.is_allowed:
        raise refusal(admitted)


def refusal(admitted: Admission) -> RateLimited:
    return RateLimited(
        f"This key may make {admitted.limit} requests of the class {admitted.rate_class!r} "
        f"a minute. Try again in {admitted.reset_seconds} s.",
        retry_after=admitted.reset_seconds,
        details={"class": admitted.rate_class, "limit": admitted.limit, "window_seconds": 60},
        admission=admitted,
    )


def rate_class_of(view: object, method: str | None) -> str:
    """Return a view's `rate_class`, which may be one for all methods or one per method."""
    named: str | Mapping[str, str] = getattr(view, "rate_class", BY_METHOD)
    if isinstance(named, str):
        return named
    return named.get(method or "GET") or BY_METHOD.get(method or "GET", "read")


def checked_limits(limits: object) -> dict[str, int]:
    """Validate limits in requests a minute by class; 0 is no limit. Raises ValueError."""
    if not isinstance(limits, Mapping):
        raise ValueError('Limits are an object such as {"search": 600}.')
    for name, value in limits.items():
        if name not in RATE_CLASSES:
            raise ValueError(f"There is no class {name!r}; there are {', '.join(RATE_CLASSES)}.")
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_RATE:
            raise ValueError(
                f"The limit of {name} is a whole number of requests a minute, from 0 (no limit) "
                f"to {MAX_RATE:,}."
            )
    return dict(limits)
