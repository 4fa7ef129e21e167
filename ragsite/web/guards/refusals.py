"""Refusing a request at the ASGI layer, in the same envelope that the API answers errors with."""

import asyncio
import json
import logging
import time
from typing import NoReturn

from ragsite.platform.asgi_types import Application, Message, Receive, Scope, Send, header_of
from ragsite.platform.errors import CHALLENGE, FLAT_PREFIX, envelope, flat_envelope
from ragsite.platform.logs import accepted_request_id, request_id

logger = logging.getLogger(__name__)

LINGER_SECONDS = 2.0


class Refusal(Exception):
    """What to answer instead of what the application would."""

    def __init__(self, status: int, code: str, message: str, *, retry_after: int = 0) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message
        self.retry_after = retry_after

    def headers(self, *, length: int, request_id: str) -> list[tuple[bytes, bytes]]:
        found = {
            "content-type": "application/json",
            "content-length": str(length),
            "connection": "close",  # what is left of the body is not worth reading
            "x-request-id": request_id,
        }
        if self.status == 401:
            found["www-authenticate"] = CHALLENGE
        if self.retry_after:
            found["retry-after"] = str(self.retry_after)
        return [(name.encode(), value.encode()) for name, value in found.items()]


class Exchange:
    """One request, and its answer as long as that can still be replaced by a refusal."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.scope, self._receive, self._send = scope, receive, send
        self.refusal: Refusal | None = None
        self.started = False
        self.body_is_complete = False

    def refuse(self, refusal: Refusal) -> NoReturn:
        self.refusal = refusal
        raise refusal

    async def receive(self) -> Message:
        return await self._receive()

    async def send(self, message: Message) -> None:
        if self.refusal is not None:  # the application has caught it and tries to answer itself
            raise self.refusal
        self.started = True
        await self._send(message)

    async def run(self, application: Application) -> None:
        try:
            await application(self.scope, self.receive, self.send)
        except Exception:
            if self.refusal is None:
                raise
        if self.refusal is not None:
            await self.answer(self.refusal)

    async def answer(self, refusal: Refusal) -> None:
        if self.started:
            raise refusal  # too late for another status: the server hangs up
        trace = accepted_request_id(header_of(self.scope, b"x-request-id"))
        with request_id(trace):
            is_flat = self.scope["path"].startswith(FLAT_PREFIX)
            shape = flat_envelope if is_flat else envelope
            body = json.dumps(shape(refusal.code, refusal.message)).encode()
            path = self.scope.get("raw_path") or self.scope["path"].encode()
            logger.info(
                "request.refused",
                extra={
                    "method": self.scope["method"],
                    "path": path.decode("latin-1"),  # still percent-encoded: forges no log line
                    "status": refusal.status,
                    "code": refusal.code,
                },
            )
        headers = refusal.headers(length=len(body), request_id=trace)
        start = {"type": "http.response.start", "status": refusal.status, "headers": headers}
        await self._send(start)
        await self._send({"type": "http.response.body", "body": body, "more_body": True})
        await self._linger()
        await self._send({"type": "http.response.body"})

    async def _linger(self) -> None:
        """Drop what the client is still sending for a moment, so that it gets to read the answer:
        closing a socket with unread data resets the connection."""
        if self.body_is_complete or header_of(self.scope, b"expect"):
            return
        deadline = time.monotonic() + LINGER_SECONDS
        try:
            while (left := deadline - time.monotonic()) > 0:
                async with asyncio.timeout(left):
                    message = await self._receive()
                if message["type"] != "http.request" or not message.get("more_body"):
                    return
        except TimeoutError:
            return
