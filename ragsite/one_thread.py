"""Django's ASGI handler with the whole of a request in one thread.

Asynchronous Django runs every hook of every synchronous middleware as a trip to a thread of its
own, a dozen of them around each request. All our views and middleware are synchronous: one trip
does for all of it. Streaming responses stay asynchronous, they are sent after that.
"""

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIHandler
from django.http import HttpRequest
from django.http.response import HttpResponseBase


class OneThreadHandler(ASGIHandler):
    def load_middleware(self, is_async: bool = False) -> None:
        super().load_middleware(is_async=False)

    async def get_response_async(self, request: HttpRequest) -> HttpResponseBase:
        return await sync_to_async(self.get_response)(request)
