"""Refuses request bodies that are too large, or find no room on disk, before Django sees them.

Django's ASGI handler spools the whole body to disk before any middleware or view runs, so this
is the only place where a limit limits anything.
"""

import errno
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

Scope = dict[str, Any]
Message = Mapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]


class BodyTooLarge(Exception):
    pass


class BodyLimit:
    def __init__(self, application: Application, *, max_bytes: int) -> None:
        self.application, self.max_bytes = application, max_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.application(scope, receive, send)
            return
        answered = False

        async def tell(message: Message) -> None:
            nonlocal answered
            answered = True
            await send(message)

        try:
            if self._declared_length(scope) > self.max_bytes:
                raise BodyTooLarge
            await self.application(scope, self._counted(receive), tell)
        except BodyTooLarge:
            sentence = f"The request body exceeds {self.max_bytes:,} bytes."
            await self._refuse(send, 413, "too_large", sentence)
        except OSError as error:
            if answered or error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            await self._refuse(send, 507, "storage_full", "There is no room left for this request.")

    @staticmethod
    def _declared_length(scope: Scope) -> int:
        value = dict(scope["headers"]).get(b"content-length", b"0")
        return int(value) if value.isdigit() else 0

    def _counted(self, receive: Receive) -> Receive:
        received = 0

        async def counting() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > self.max_bytes:
                raise BodyTooLarge
            return message

        return counting

    @staticmethod
    async def _refuse(send: Send, status: int, code: str, message: str) -> None:
        error = {"code": code, "message": message, "details": {}, "request_id": ""}
        headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": json.dumps({"error": error}).encode()})
