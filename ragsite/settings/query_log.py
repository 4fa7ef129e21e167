"""What the query log keeps, as the environment configures it."""

import re
from typing import Any

import environ
from django.core.exceptions import ImproperlyConfigured

TEXTS = ("full", "redacted", "hash")
REDACTIONS = ("email", "url", "number")


def privacy(env: environ.Env) -> dict[str, Any]:
    """Return {"text", "redact", "pattern", "sample"}."""
    text = env.str("QUERY_LOG_TEXT", default="full")
    if text not in TEXTS:
        raise ImproperlyConfigured(f"QUERY_LOG_TEXT must be one of: {', '.join(TEXTS)}.")
    redact = env.list("QUERY_LOG_REDACT", default=["email", "url", "number"])
    if unknown := [name for name in redact if name not in REDACTIONS]:
        raise ImproperlyConfigured(
            f"QUERY_LOG_REDACT has {', '.join(unknown)}; there are {', '.join(REDACTIONS)}."
        )
    sample = env.float("QUERY_LOG_SAMPLE", default=1.0)
    if not 0 <= sample <= 1:
        raise ImproperlyConfigured("QUERY_LOG_SAMPLE must be from 0 to 1.")
    return {
        "text": text,
        "redact": tuple(redact),
        "pattern": _pattern(env.str("QUERY_LOG_REDACT_PATTERN", default="")),
        "sample": sample,
    }


def _pattern(text: str) -> re.Pattern[str] | None:
    try:
        return re.compile(text) if text else None
    except re.error as error:
        raise ImproperlyConfigured(
            f"QUERY_LOG_REDACT_PATTERN is no regular expression: {error}."
        ) from None
