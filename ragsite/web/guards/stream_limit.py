"""Limits how many streams a key may have open at the same time: downloads, events, sockets.

A response counts as a stream if its length is unknown or more than a megabyte, so new routes that
stream are limited by default.
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings

from ragsite.access.client_address import address_of_scope, network_of
from ragsite.platform.asgi_types import Application, Message, Receive, Scope, Send, header_of
from ragsite.platform.errors import ApiError

from .refusals import Exchange, Refusal
from .routes import needs_key
from .slots import SlotResult, Slots

MAX_PLAIN_BYTES = 1024 * 1024  # a longer response counts as a stream
RETRY_AFTER = 5  # seconds
CODE = "too_many_streams"
TRY_AGAIN_LATER = 1013  # WebSocket close code

open_streams = Slots(per_owner=settings.STREAMS["per_key"])


class StreamLimit:
    def __init__(self, application: Application, *, slots: Slots = open_streams) -> None:
        self.application, self.slots = application, slots

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        kinds = {"http": _HttpExchange, "websocket": _WebSocketExchange}
        if scope["type"] not in kinds:
            await self.application(scope, receive, send)
            return
        exchange = kinds[scope["type"]](scope, receive, send, slots=self.slots)
        try:
            await exchange.run(self.application)
        finally:
            exchange.release()


class _StreamExchange(Exchange):
    def __init__(self, scope: Scope, receive: Receive, send: Send, *, slots: Slots) -> None:
        super().__init__(scope, receive, send)
        self.slots = slots
        self.owner = ""

    def take_slot(self) -> None:
        owner = self.find_owner()
        if self.slots.take(owner) is not SlotResult.TAKEN:
            self.refuse(Refusal(429, CODE, _message(self.slots), retry_after=RETRY_AFTER))
        self.owner = owner

    def find_owner(self) -> str:
        return _owner_of(self.scope)

    def release(self) -> None:
        if self.owner:
            self.slots.give_back(self.owner)
            self.owner = ""


class _HttpExchange(_StreamExchange):
    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start" and _is_stream(self.scope, message):
            self.body_is_complete = True  # of the request: the application is responding
            self.take_slot()
        await super().send(message)


class _WebSocketExchange(_StreamExchange):
    async def send(self, message: Message) -> None:
        if message["type"] == "websocket.accept":
            self.take_slot()
        await super().send(message)

    def find_owner(self) -> str:
        """Return the address, because no key has been checked yet, whatever the headers say."""
        return _address_owner(self.scope)

    async def answer(self, refusal: Refusal) -> None:
        close = {"type": "websocket.close", "code": TRY_AGAIN_LATER, "reason": refusal.code}
        await self._send(close)


@contextmanager
def waiting(authorization: str) -> Iterator[None]:
    """Count a view that keeps its caller waiting as a stream for that time."""
    with slot_of(_key_owner(authorization)):
        yield


@contextmanager
def slot_of(owner: str) -> Iterator[None]:
    """The same for work whose owner is known without a header."""
    if open_streams.take(owner) is not SlotResult.TAKEN:
        raise ApiError(CODE, _message(open_streams), http_status=429, retry_after=RETRY_AFTER)
    try:
        yield
    finally:
        open_streams.give_back(owner)


def _is_stream(scope: Scope, start: Message) -> bool:
    is_answer = 200 <= start["status"] < 300 and start["status"] != 204
    if not is_answer or scope["method"] == "HEAD":
        return False
    lengths = [v for name, v in start.get("headers", []) if name.lower() == b"content-length"]
    return not lengths or int(lengths[0]) > MAX_PLAIN_BYTES


def _owner_of(scope: Scope) -> str:
    authorization = header_of(scope, b"authorization")
    if authorization and needs_key(scope["path"]):
        return _key_owner(authorization)  # the application has responded, so the key is valid
    return _address_owner(scope)


def _address_owner(scope: Scope) -> str:
    return f"address:{network_of(address_of_scope(scope))}"


def _key_owner(authorization: str) -> str:
    """Return a hash of the key, so that the same key has one owner however its header is
    written."""
    token = authorization.partition(" ")[2].strip()
    return f"key:{hashlib.sha256(token.encode()).hexdigest()}"


def _message(slots: Slots) -> str:
    return f"At most {slots.per_owner} streams at once; close one or try again later."
