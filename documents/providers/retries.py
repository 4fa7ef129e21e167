"""How long to wait before a failed call to a provider is made again."""

import random

FIRST_PAUSE, MAX_PAUSE = 0.5, 30.0  # seconds between two tries, before the jitter


def pause_before_retry(number: int, retry_after: float | None) -> float:
    """Seconds; longer each time, with jitter so that workers do not come back in step."""
    if retry_after is not None:
        return retry_after + random.uniform(0, FIRST_PAUSE)  # noqa: S311  (no secret)
    backoff = min(MAX_PAUSE, FIRST_PAUSE * 2**number)
    return random.uniform(backoff / 2, backoff)  # noqa: S311
