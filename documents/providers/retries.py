"""How long to wait before retrying a failed call to a provider."""

import random

FIRST_PAUSE, MAX_PAUSE = 0.5, 30.0  # seconds, before jitter


def pause_before_retry(number: int, retry_after: float | None) -> float:
    """Return seconds with exponential backoff, and jitter so that workers do not retry in step."""
    if retry_after is not None:
        return retry_after + random.uniform(0, FIRST_PAUSE)  # noqa: S311  (no secret)
    backoff = min(MAX_PAUSE, FIRST_PAUSE * 2**number)
    return random.uniform(backoff / 2, backoff)  # noqa: S311
