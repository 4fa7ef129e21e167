"""Refuses a request at the ASGI layer, with the same error envelope as the API."""

import asyncio
import json
import logging
import time
from typing import NoReturn

from ragsite.platform.asgi_types import Application, Message, Receive, Scope, Send, header_of
from ragsite.platform.errors import CHALLENGE, envelope_at
from ragsite.platform.logs import accepted_request_id, request_id

logger = logging.getLogger(__name__)

LINGER_SECONDS = 2.0


class Refusal(Exception):
    """The response to send instead of the application's."""

    def __init__(self, status: int, code: str, message: str, *, retry_after: int = 0) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message
        self.retry_after = retry_after

    def headers(self, *, length: int, request_id: str) -> list[tuple[bytes, bytes]]:
        found = {
            "content-type": "application/json",
            "content-length": str(length),
            "connection": "close",  # the rest of the body is not read
            "x-request-id": request_id,
        }
        if self.status == 401:
            found["www-authenticate"] = CHALLENGE
        if self.retry_after:
            found["retry-after"] = str(self.retry_after)
        return [(name.encode(), value.encode()) for name, value in found.items()]


class Exchange:
    """One request and its response, which can be replaced by a refusal until it has started."""

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
        if self.refusal is not None:  # the application caught it and responds itself
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
            raise refusal  # the status is sent already: the server closes the connection
        trace = accepted_request_id(header_of(self.scope, b"x-request-id"))
        with request_id(trace):
            shown = envelope_at(self.scope["path"], refusal.status, refusal.code, refusal.message)
            body = json.dumps(shown).encode()
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
        """Discard further input for a moment, so that the client can read the response.

        Closing a socket with unread data would reset the connection.
        """
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
