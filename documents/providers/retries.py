"""Whether and when a failed call to a provider is made again."""

import random

from documents.providers.http_api import (
    ProviderBrokeOff,
    ProviderFailed,
    ProviderTimeout,
    ProviderUnavailable,
)

FIRST_PAUSE, MAX_PAUSE = 0.5, 30.0  # seconds between two tries, before the jitter


def is_worth_retrying(error: ProviderFailed) -> bool:
    return isinstance(error, ProviderUnavailable | ProviderBrokeOff | ProviderTimeout)


def pause_before_retry(number: int, retry_after: float | None) -> float:
    """Seconds; longer each time, with jitter so that workers do not come back in step."""
    if retry_after is not None:
        return retry_after + random.uniform(0, FIRST_PAUSE)  # noqa: S311  (no secret)
    backoff = min(MAX_PAUSE, FIRST_PAUSE * 2**number)
    return random.uniform(backoff / 2, backoff)  # noqa: S311
