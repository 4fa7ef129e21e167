"""The types of an ASGI application, as our guards see them."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

Scope = dict[str, Any]
Message = Mapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]


def header_of(scope: Scope, name: bytes) -> str:
    """The header's value, or an empty string. ASGI servers give names in lower case."""
    for key, value in scope["headers"]:
        if key == name:
            return str(value, "latin-1")
    return ""
