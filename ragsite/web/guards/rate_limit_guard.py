"""Answers calls that are known to be refused (ragsite/access/refused_calls.py), without Django.

A client that keeps asking although its limit is used up costs neither a thread nor the database,
and so delays others little. It gets the response of the first refusal, with the seconds left.
"""

import logging
from typing import Any

import orjson

from ragsite.access import rate_limits
from ragsite.access.refused_calls import RefusedCall, RefusedCalls, call_of, refused_calls
from ragsite.platform.asgi_types import Application, Receive, Scope, Send, header_of
from ragsite.platform.errors import envelope_at
from ragsite.platform.logs import accepted_request_id, request_id

logger = logging.getLogger(__name__)


class RateLimitGuard:
    def __init__(self, application: Application, *, calls: RefusedCalls = refused_calls) -> None:
        self.application, self.calls = application, calls

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refused = None
        if scope["type"] == "http" and not self.calls.is_empty:
            authorization = header_of(scope, b"authorization")
            refused = self.calls.find(call_of(authorization, scope["method"], scope["path"]))
        if refused is None:
            await self.application(scope, receive, send)
        else:
            await _refuse(scope, receive, send, refused)


async def _refuse(scope: Scope, receive: Receive, send: Send, refused: RefusedCall) -> None:
    while (message := await receive())["type"] == "http.request" and message.get("more_body"):
        pass  # the connection stays open for the client's next request
    error = rate_limits.refusal(refused.admission)
    trace = accepted_request_id(header_of(scope, b"x-request-id"))
    with request_id(trace):
        path, status = scope["path"], error.status_code
        body = orjson.dumps(envelope_at(path, status, error.code, str(error.detail), error.details))
        fields = {"method": scope["method"], "path": path, "status": status, "code": error.code}
        logger.info("request.refused", extra=fields)
    headers = {
        **refused.headers,
        **refused.admission.headers,
        "Retry-After": str(error.retry_after),
        "X-Request-ID": trace,
        "Content-Length": str(len(body)),
    }
    await send({"type": "http.response.start", "status": status, "headers": _encoded(headers)})
    await send({"type": "http.response.body", "body": body if scope["method"] != "HEAD" else b""})


def _encoded(headers: dict[str, Any]) -> list[tuple[bytes, bytes]]:
    return [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()]
