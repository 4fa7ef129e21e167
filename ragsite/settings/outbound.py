"""Limits on what the service fetches from the web for a caller (documents/intake/fetching.py)."""

from typing import Any

import environ


def fetching(env: environ.Env) -> dict[str, Any]:
    return {
        "ports": frozenset(env.list("FETCH_PORTS", cast=int, default=[80, 443])),
        "seconds": env.float("FETCH_SECONDS", default=20.0),
    }
