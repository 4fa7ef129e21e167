"""The types of an ASGI application."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

Scope = dict[str, Any]
Message = Mapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]


def header_of(scope: Scope, name: bytes) -> str:
    """Return a header's value or an empty string; `name` is in lower case, as in ASGI."""
    for key, value in scope["headers"]:
        if key == name:
            return str(value, "latin-1")
    return ""
