"""Django's ASGI handler, but each request runs in one thread.

Django's handler holds files in memory and bodies on disk for as long as a slow client reads, and
cancels the view of a client that leaves (figures in docs/decisions/0003-asgi-on-uvicorn.md). Here a
streaming response is sent after the request's thread has finished: it holds neither a thread nor a
database connection, and each of its steps borrows both (ragsite/web/threads.py).
"""

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from typing import IO, Any

from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.core import signals
from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import ASGIHandler, get_script_prefix
from django.http import FileResponse
from django.http.response import HttpResponseBase, StreamingHttpResponse
from django.urls import set_script_prefix

from ragsite.web.client_watch import ClientWatch, watched
from ragsite.web.threads import RequestThreads


class OneThreadHandler(ASGIHandler):
    def __init__(self, *, threads: RequestThreads | None = None) -> None:
        super().__init__()
        self.threads = threads or RequestThreads()

    def load_middleware(self, is_async: bool = False) -> None:
        super().load_middleware(is_async=False)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            raise ValueError(f"This application does not speak {scope['type']}.")
        try:
            body = await self.read_body(receive)
        except RequestAborted:
            return
        scope = _with_length(scope, body)
        watch = ClientWatch(receive)
        with body, watched(watch):
            set_script_prefix(get_script_prefix(scope))
            try:
                response: HttpResponseBase = await self.threads.run(self._answer, scope, body)
            finally:
                await watch.stop()
        # The body is closed by now: a client that reads slowly must not keep it on our disk.
        if not response.streaming:
            await self.send_response(response, send)
            return
        async with ThreadSensitiveContext(executor=self.threads):
            await self._stream(response, receive, send)

    def _answer(self, scope: Any, body: Any) -> Any:
        """Run the request from first to last signal; a streamed one ends when it is sent."""
        signals.request_started.send(sender=self.__class__, scope=scope)
        request, refused = self.create_request(scope, body)
        response: Any = refused if request is None else self.get_response(request)
        response._handler_class = self.__class__  # the sender of the request_finished signal
        if isinstance(response, FileResponse):
            response.block_size = self.chunk_size
        if not response.streaming:
            response.close()
        elif not response.is_async:
            _send_part_by_part(response)
        return response

    async def _stream(self, response: HttpResponseBase, receive: Any, send: Any) -> None:
        """Send the response until it ends or the client disconnects."""
        sending = asyncio.create_task(self.send_response(response, send))
        leaving = asyncio.create_task(receive())
        try:
            await asyncio.wait([sending, leaving], return_when=asyncio.FIRST_COMPLETED)
        finally:
            leaving.cancel()
            sending.cancel()
            await asyncio.gather(sending, leaving, return_exceptions=True)
            await sync_to_async(response.close)()
        if not sending.cancelled():
            sending.result()


def _with_length(scope: Any, body: IO[bytes]) -> Any:
    """Declare the length of a body that came in chunks, which Django would take for empty."""
    if any(name == b"content-length" for name, _ in scope["headers"]):
        return scope
    length = body.seek(0, os.SEEK_END)
    body.seek(0)
    if not length:
        return scope
    return {**scope, "headers": [*scope["headers"], (b"content-length", b"%d" % length)]}


def _send_part_by_part(response: StreamingHttpResponse) -> None:
    """Send a synchronous iterator part by part; Django would read all of it into memory first."""
    parts: Iterator[bytes] = iter(response.streaming_content)  # type: ignore[arg-type]
    end = object()

    def next_part() -> Any:
        return next(parts, end)

    async def one_by_one() -> AsyncIterator[Any]:
        while (part := await sync_to_async(next_part)()) is not end:
            yield part

    response.streaming_content = one_by_one()
