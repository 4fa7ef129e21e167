"""What the service wants of every call to a provider. It puts its own functions here when it
starts (documents/apps.py); this room knows nothing of it."""

from collections.abc import Callable


def _no_request_id() -> str:
    return ""


def _ignore(code: str) -> None: ...


request_id: Callable[[], str] = _no_request_id  # sent as X-Request-ID
count_failure: Callable[[str], None] = _ignore
