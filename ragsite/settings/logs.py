"""Django's LOGGING setting, and what the query log keeps of a question."""

import re
from typing import Any

import environ
from django.core.exceptions import ImproperlyConfigured

QUERY_TEXTS = ("full", "redacted", "hash")
QUERY_REDACTIONS = ("email", "url", "number")


def logging(*, level: str, format_: str) -> dict[str, Any]:
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "filters": {
            "request_id": {"()": "ragsite.platform.logs.RequestIdFilter"},
            "readiness": {"()": "ragsite.platform.logs.ReadinessFilter"},
            "links": {"()": "ragsite.platform.logs.LinkFilter"},
        },
        "formatters": {
            "json": {"()": "ragsite.platform.logs.json_formatter"},
            "text": {"()": "ragsite.platform.logs.TextFormatter"},
        },
        "handlers": {
            "console": {
                "class": "logging.StreamHandler",
                "filters": ["request_id"],
                "formatter": format_,
            }
        },
        "root": {"handlers": ["console"], "level": level},
        "loggers": {
            # Both log every task and every file at INFO; warnings are kept.
            "django-q": {"level": "WARNING"},
            "django.request": {"level": "ERROR", "filters": ["readiness", "links"]},
            "httpx": {"level": "WARNING"},
            "mcp": {"level": "WARNING"},
            # Its own handler would write what clients send without escaping.
            "uvicorn": {"handlers": ["console"], "level": "WARNING", "propagate": False},
            "matplotlib": {"level": "WARNING"},
            "sentence_transformers": {"level": "WARNING"},
        },
    }


def query_log_privacy(env: environ.Env) -> dict[str, Any]:
    """Return {"text", "redact", "pattern", "sample"}."""
    text = env.str("QUERY_LOG_TEXT", default="full")
    if text not in QUERY_TEXTS:
        raise ImproperlyConfigured(f"QUERY_LOG_TEXT must be one of: {', '.join(QUERY_TEXTS)}.")
    redact = env.list("QUERY_LOG_REDACT", default=["email", "url", "number"])
    if unknown := [name for name in redact if name not in QUERY_REDACTIONS]:
        raise ImproperlyConfigured(
            f"QUERY_LOG_REDACT has {', '.join(unknown)}; there are {', '.join(QUERY_REDACTIONS)}."
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
