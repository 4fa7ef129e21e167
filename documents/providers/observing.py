"""Hooks around every call to a provider. The service sets its own functions at start
(documents/apps.py), so that this package needs no framework."""

from collections.abc import Callable


def _no_request_id() -> str:
    return ""


def _ignore(code: str) -> None: ...


request_id: Callable[[], str] = _no_request_id  # sent as X-Request-ID
count_failure: Callable[[str], None] = _ignore
