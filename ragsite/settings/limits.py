"""Limits on requests, on the contents of a namespace, and on the database's time."""

from typing import Any

import environ
from django.core.exceptions import ImproperlyConfigured

# Requests per minute of each API key, by class of route; 0 means no limit.
DEFAULT_RATE_LIMITS = {
    "search": 6000,
    "answer": 1200,
    "ingest": 1200,
    "read": 6000,
    "write": 3000,
    "admin": 300,
    "agent": 30,
    "link": 120,  # for each visitor of a public link
}


def rate_limits(env: environ.Env) -> dict[str, int]:
    overrides: dict[str, Any] = env.json("RATE_LIMITS", default={})
    unknown = set(overrides) - set(DEFAULT_RATE_LIMITS)
    if unknown or not all(type(n) is int and 0 <= n <= 1_000_000 for n in overrides.values()):
        raise ImproperlyConfigured(
            'RATE_LIMITS is JSON such as {"search": 600}: whole numbers of requests a minute '
            f"for any of {', '.join(DEFAULT_RATE_LIMITS)}; 0 is no limit."
        )
    return {**DEFAULT_RATE_LIMITS, **overrides}


def quotas(env: environ.Env) -> dict[str, int]:
    """Return the default quotas, for namespaces without their own; 0 means no quota."""
    return {
        "documents": env.int("QUOTA_DOCUMENTS", default=0),
        "bytes": env.int("QUOTA_BYTES", default=0),
        "chunks": env.int("QUOTA_CHUNKS", default=0),
    }


def database_timeouts(env: environ.Env) -> dict[str, dict[str, float]]:
    """Return the timeouts in seconds by kind of process; 0 means none. The owner, who migrates, has
    none."""
    return {
        "web": {
            "statement": env.float("DATABASE_WEB_STATEMENT_SECONDS", default=30.0),
            "lock": env.float("DATABASE_WEB_LOCK_SECONDS", default=10.0),
            "idle": env.float("DATABASE_WEB_IDLE_SECONDS", default=60.0),
        },
        "worker": {
            "statement": env.float("DATABASE_WORKER_STATEMENT_SECONDS", default=900.0),
            "lock": env.float("DATABASE_WORKER_LOCK_SECONDS", default=60.0),
            "idle": env.float("DATABASE_WORKER_IDLE_SECONDS", default=600.0),
        },
        "operator": {
            "statement": env.float("DATABASE_OPERATOR_STATEMENT_SECONDS", default=60.0),
            "lock": env.float("DATABASE_OPERATOR_LOCK_SECONDS", default=10.0),
            "idle": env.float("DATABASE_OPERATOR_IDLE_SECONDS", default=600.0),
        },
    }


# PostgreSQL's names for them
TIMEOUT_PARAMETERS = {
    "statement": "statement_timeout",
    "lock": "lock_timeout",
    "idle": "idle_in_transaction_session_timeout",
}


def timeout_parameters(timeouts: dict[str, float]) -> dict[str, str]:
    """Return timeouts under PostgreSQL's names, in milliseconds."""
    return {
        parameter: str(round(timeouts[name] * 1000))
        for name, parameter in TIMEOUT_PARAMETERS.items()
    }


def with_timeouts(options: dict[str, Any], timeouts: dict[str, float]) -> dict[str, Any]:
    """Add the timeouts to connection options, so that no extra statement is needed. Options in the
    database's URL come later and so take precedence."""
    ours = " ".join(f"-c {name}={value}" for name, value in timeout_parameters(timeouts).items())
    return {**options, "options": f"{ours} {options.get('options', '')}".strip()}


def max_bytes_by_type(env: environ.Env) -> dict[str, int]:
    """Text formats take many times their size in memory while they are read; images do not."""
    megabyte = 1024 * 1024
    small = ("md", "rst", "html", "transcript", "org", "xml", "code", "config")
    medium = ("txt", "csv", "json", "xlsx", "rtf", "ipynb")
    return {
        **dict.fromkeys(small, 10 * megabyte),
        **dict.fromkeys(medium, 20 * megabyte),
        **dict.fromkeys(("eml", "msg", "image"), 30 * megabyte),
        **env.json("INGEST_MAX_BYTES_BY_TYPE", default={}),
    }
