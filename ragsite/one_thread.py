"""Django's ASGI handler with the whole of a request in one thread.

Asynchronous Django runs every hook of every synchronous middleware as a trip to a thread of its
own, a dozen of them around each request, and one more each for what is done at its beginning and
at its end. All our views and middleware are synchronous: one trip does for all of it. Streaming
responses stay asynchronous, they are sent after that.

It also starts a thread for every request. Here one that has nothing to do takes the next.
"""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any

from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.core import signals
from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import ASGIHandler, get_script_prefix
from django.http import FileResponse
from django.http.response import HttpResponseBase
from django.urls import set_script_prefix


class OneThreadHandler(ASGIHandler):
    def __init__(self) -> None:
        super().__init__()
        self._idle: list[ThreadPoolExecutor] = []  # of one thread each

    def load_middleware(self, is_async: bool = False) -> None:
        super().load_middleware(is_async=False)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            raise ValueError(f"This application does not speak {scope['type']}.")
        thread = self._idle.pop() if self._idle else ThreadPoolExecutor(1, "request")
        try:
            await self._serve(thread, scope, receive, send)
        finally:
            # Behind whatever it still does for a client who has gone.
            thread.submit(self._idle.append, thread)

    async def _serve(self, thread: ThreadPoolExecutor, scope: Any, receive: Any, send: Any) -> None:
        try:
            body = await self.read_body(receive)
        except RequestAborted:
            return
        with body:
            set_script_prefix(get_script_prefix(scope))
            response: HttpResponseBase = await asyncio.get_running_loop().run_in_executor(
                thread, copy_context().run, self._answer, scope, body
            )
            if not response.streaming:
                await self.send_response(response, send)
                return
            async with ThreadSensitiveContext(executor=thread):
                await self._stream(response, receive, send)

    def _answer(self, scope: Any, body: Any) -> Any:
        """The request from its first signal to its last, in this thread. One that streams has its
        end when all of it is sent."""
        signals.request_started.send(sender=self.__class__, scope=scope)
        request, refused = self.create_request(scope, body)
        response: Any = refused if request is None else self.get_response(request)
        response._handler_class = self.__class__  # whom the last signal names as its sender
        if isinstance(response, FileResponse):
            response.block_size = self.chunk_size
        if not response.streaming:
            response.close()
        return response

    async def _stream(self, response: HttpResponseBase, receive: Any, send: Any) -> None:
        """Until its end, or until the client goes."""
        sending = asyncio.create_task(self.send_response(response, send))
        leaving = asyncio.create_task(receive())
        try:
            await asyncio.wait([sending, leaving], return_when=asyncio.FIRST_COMPLETED)
        finally:
            leaving.cancel()
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)
            await sync_to_async(response.close)()
        if not sending.cancelled():
            sending.result()
