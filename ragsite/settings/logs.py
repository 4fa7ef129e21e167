"""Django's LOGGING setting."""

from typing import Any


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
