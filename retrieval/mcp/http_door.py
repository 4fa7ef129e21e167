"""/mcp: the protocol over streamable HTTP, stateless, every response plain JSON.

Raw ASGI, beside Django. Keys, hosts, methods and limits are checked here, before the SDK sees the
request. The SDK answers requests of both generations of the protocol.
"""

import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import orjson
from django.conf import settings
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from rest_framework.exceptions import MethodNotAllowed

from ragsite.access import rate_limits
from ragsite.access.actor import KEY, Actor
from ragsite.access.auth import CountedCall, authenticate, not_authenticated
from ragsite.access.client_address import address_of_scope
from ragsite.platform.asgi_types import Message, Receive, Scope, Send, header_of
from ragsite.platform.errors import ApiError, exception_handler
from ragsite.platform.logs import accepted_request_id, request_id
from ragsite.web.sockets import is_trusted
from ragsite.web.threads import RequestThreads

from .calls import CallThreads, ToolCall, nothing_more
from .server import McpServer

logger = logging.getLogger(__name__)

PATH = "/mcp"
# Many clients are configured with a trailing slash, and none follows a redirect of a POST.
PATHS = (PATH, f"{PATH}/")
METHOD = "POST"
RATE_CLASS = "read"  # of the request; a tool call counts as `agent`, too
RETRY_AFTER = 5  # seconds
_CALL = "ragsite.call"  # in the scope


class McpDoor:
    def __init__(self, *, threads: RequestThreads) -> None:
        self.threads = threads
        self.server = McpServer(threads=CallThreads(threads), call_of=_call_of)
        self._manager: StreamableHTTPSessionManager | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Enclose the web server's lifetime: the SDK's tasks run inside this block."""
        manager = StreamableHTTPSessionManager(
            self.server.sdk,
            json_response=True,
            stateless=True,
            max_request_body_size=settings.BODIES["max_bytes"],
        )
        async with manager.run():
            self._manager = manager
            try:
                yield
            finally:
                self._manager = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange = _Exchange(scope, send)
        with request_id(exchange.request_id):
            try:
                await self._serve(scope, receive, exchange)
            except Exception as error:
                if exchange.status:
                    raise
                await exchange.refuse(error)
            finally:
                exchange.log()

    async def _serve(self, scope: Scope, receive: Receive, exchange: "_Exchange") -> None:
        call = exchange.call = await self._admit(scope, receive, exchange)
        if scope["method"] != METHOD:
            raise MethodNotAllowed(scope["method"])
        if self._manager is None:
            message = "The server is starting or stopping; try again shortly."
            raise ApiError("unavailable", message, http_status=503, retry_after=RETRY_AFTER)
        body = await _whole_body(receive)
        if body is not None:
            known = {**scope, _CALL: call}
            await self._manager.handle_request(known, _replay(body), exchange.send)  # type: ignore[arg-type]

    async def _admit(self, scope: Scope, receive: Receive, exchange: "_Exchange") -> ToolCall:
        if not is_trusted(scope):
            message = "This host name or origin is not one of ALLOWED_HOSTS."
            raise ApiError("forbidden", message, http_status=403)
        authorization = header_of(scope, b"authorization")
        if not authorization.strip():
            raise not_authenticated()
        address = address_of_scope(scope)
        counted: CountedCall = await self.threads.run(
            partial(authenticate, authorization, rate_class=RATE_CLASS, address=address)
        )
        if counted.admission is not None:
            exchange.admission = counted.admission
            rate_limits.require(counted.admission)
        caller = counted.caller
        return ToolCall(
            caller,
            Actor(KEY, caller.prefix, address),
            exchange.request_id,
            _base_url(scope),
            receive,
        )


class _Exchange:
    """The response to one request: its headers, a possible refusal, and its log line."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self.scope, self._send = scope, send
        self.request_id = accepted_request_id(header_of(scope, b"x-request-id"))
        self.call: ToolCall | None = None
        self.admission: rate_limits.Admission | None = None
        self.status = 0
        self._began = time.perf_counter()

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message = {**message, "headers": [*message.get("headers", []), *self._headers()]}
        await self._send(message)

    def _headers(self) -> list[tuple[bytes, bytes]]:
        """Return the same headers as other routes; the limit is that of the tool, if one was
        called."""
        found = {"x-request-id": self.request_id, "x-content-type-options": "nosniff"}
        called = self.call.admission if self.call else None
        if admission := called or self.admission:
            found |= admission.headers
        return [(name.lower().encode(), value.encode()) for name, value in found.items()]

    async def refuse(self, error: Exception) -> None:
        response = exception_handler(error, {})
        body = orjson.dumps(response.data)
        headers = {name.lower(): value for name, value in response.headers.items()}
        headers |= {"content-type": "application/json", "content-length": str(len(body))}
        if response.status_code == 405:
            headers["allow"] = METHOD
        start = {
            "type": "http.response.start",
            "status": response.status_code,
            "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        }
        await self.send(start)
        await self.send({"type": "http.response.body", "body": body})

    def log(self) -> None:
        fields = {"method": self.scope["method"], "path": PATH, "status": self.status}
        took = round((time.perf_counter() - self._began) * 1000, 1)
        logger.info("request.done", extra={**fields, "ms": took})


async def _call_of(ctx: Any) -> ToolCall:
    """Return the call from the scope, which the SDK passes on in both generations of the
    protocol."""
    call: ToolCall = ctx.request.scope[_CALL]
    return call


async def _whole_body(receive: Receive) -> bytes | None:
    """Return None if the client disconnected before the end. BodyGuard limits the size."""
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        body += message.get("body", b"")
        if not message.get("more_body"):
            return bytes(body)


def _replay(body: bytes) -> Receive:
    """Replay the body for the SDK. The ToolCall's watch is what notices a disconnect."""
    parts: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        return parts.pop() if parts else await nothing_more()

    return receive


def _base_url(scope: Scope) -> str:
    """Return the address that the request was sent to; its host has been checked."""
    forwarded = header_of(scope, b"x-forwarded-proto") if settings.BEHIND_TLS else ""
    is_secure = forwarded.partition(",")[0].strip() == "https"
    scheme = "https" if is_secure else scope.get("scheme", "http")
    return f"{scheme}://{header_of(scope, b'host')}"
