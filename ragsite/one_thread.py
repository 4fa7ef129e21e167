"""Django's ASGI handler with the whole of a request in one thread.

Asynchronous Django runs every hook of every synchronous middleware as a trip to a thread of its
own, a dozen of them around each request. All our views and middleware are synchronous: one trip
does for all of it. Streaming responses stay asynchronous, they are sent after that.

It also starts a thread for every request. Here one that has nothing to do takes the next.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.core.handlers.asgi import ASGIHandler
from django.http import HttpRequest
from django.http.response import HttpResponseBase


class OneThreadHandler(ASGIHandler):
    def __init__(self) -> None:
        super().__init__()
        self._idle: list[ThreadPoolExecutor] = []  # of one thread each

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        thread = self._idle.pop() if self._idle else ThreadPoolExecutor(1, "request")
        try:
            async with ThreadSensitiveContext(executor=thread):
                await super().__call__(scope, receive, send)
        finally:
            # Behind whatever it still does for a client who has gone.
            thread.submit(self._idle.append, thread)

    def load_middleware(self, is_async: bool = False) -> None:
        super().load_middleware(is_async=False)

    async def get_response_async(self, request: HttpRequest) -> HttpResponseBase:
        return await sync_to_async(self.get_response)(request)
