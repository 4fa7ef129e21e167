"""/api/v1/answer/ws: questions and answers over one WebSocket. docs/answers.md has the protocol.

Plain ASGI, without Django's handler. The key is in the first message, never in the URL. It is
looked up again for each question, so that a revoked key stops working.
"""

import asyncio
import logging
import time
from contextlib import aclosing
from functools import partial
from typing import Any

from django.conf import settings
from rest_framework.utils import json

from ragsite.access import rate_limits
from ragsite.access.actor import KEY, Actor, acting_as, set_actor
from ragsite.access.auth import authenticate, find_caller, insufficient_scope
from ragsite.access.client_address import address_of_scope
from ragsite.platform.asgi_types import Message, Receive, Scope, Send, header_of
from ragsite.platform.errors import ApiError, envelope_of
from ragsite.platform.logs import accepted_request_id, request_id
from ragsite.web import sockets
from ragsite.web.guards import stream_limit
from ragsite.web.guards.routes import STRANGER_BYTES
from ragsite.web.streaming import as_line
from ragsite.web.threads import RequestThreads
from retrieval.answering.requests import AnswerRequest

from .events import answer_events
from .runs import AnswerRun
from .serializers import answer_request_of

logger = logging.getLogger(__name__)

PATH = "/api/v1/answer/ws"
KEY_SECONDS = 10.0  # until the first message
IDLE_SECONDS = 300.0  # without a question
MAX_ID = 200  # characters
CLOSE_CODES = {401: sockets.NOT_AUTHENTICATED, 403: sockets.FORBIDDEN}
LAST_EVENTS = ("answer", "error")

Fields = dict[str, Any]


class _Left(Exception):
    """The client has closed the socket."""


class _HangUp(Exception):
    def __init__(self, code: int, error: Exception | None = None) -> None:
        self.code, self.error = code, error


class AnswerSocket:
    def __init__(self, *, threads: RequestThreads) -> None:
        self.threads = threads

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        trace = accepted_request_id(header_of(scope, b"x-request-id"))
        await receive()
        await send({"type": "websocket.accept", "headers": [(b"x-request-id", trace.encode())]})
        with request_id(trace):
            talk = _Conversation(receive, send, self.threads, address=address_of_scope(scope))
            await talk.run(trace)


class _Conversation:
    """One socket, from its first message to its end. It answers one question at a time."""

    def __init__(
        self, receive: Receive, send: Send, threads: RequestThreads, *, address: str
    ) -> None:
        self._receive, self._send, self._threads, self._address = receive, send, threads, address
        self._incoming: asyncio.Task[Any] | None = None
        self._authorization = ""
        self._has_ended = True  # the current answer

    async def run(self, trace: str) -> None:
        try:
            message: Fields | None = await self._authenticate()
            questions = 0
            while True:
                if message is not None:
                    questions += 1
                    with request_id(f"{trace}-{questions}"):
                        await self._handle(message)
                message = await self._next_message()
        except _Left:
            pass
        except _HangUp as end:
            if end.error is not None:
                await self._tell(end.error)
            await self._close(end.code, getattr(end.error, "code", "idle"))
        finally:
            if self._incoming is not None:
                self._incoming.cancel()

    # -- the client's messages -------------------------------------------------------------

    async def _authenticate(self) -> Fields | None:
        """Authenticate by the first message; return it if it is also a question."""
        message = await self._message(KEY_SECONDS, max_bytes=STRANGER_BYTES)
        if message is None:
            late = ApiError("not_authenticated", "No key came in time.", http_status=401)
            raise _HangUp(sockets.NOT_AUTHENTICATED, late)
        key = message.pop("key", None)
        if not isinstance(key, str) or not key:
            text = 'The first message has your API key: {"type": "auth", "key": "rs_…"}.'
            error = ApiError("not_authenticated", text, http_status=401)
            raise _HangUp(sockets.NOT_AUTHENTICATED, error)
        self._authorization = f"Bearer {key}"
        if message.get("type") != "auth":
            return message
        try:
            await self._threads.run(
                partial(find_caller, self._authorization, address=self._address)
            )
        except Exception as error:
            status = getattr(error, "status_code", 500)
            raise _HangUp(CLOSE_CODES.get(status, sockets.TRY_LATER), error) from error
        await self._say("ready", {})
        return None

    async def _next_message(self) -> Fields:
        """Wait for the next message, sending heartbeats."""
        heartbeat: float = settings.ANSWER_RUNS["heartbeat"]
        idle_until = time.monotonic() + IDLE_SECONDS
        while (left := idle_until - time.monotonic()) > 0:
            message = await self._message(min(heartbeat, left))
            if message is not None:
                return message
            await self._say("heartbeat", None)
        raise _HangUp(sockets.NORMAL)

    async def _message(self, seconds: float, *, max_bytes: int | None = None) -> Fields | None:
        done, _ = await asyncio.wait([self._listen()], timeout=seconds)
        return self._read(done.pop().result(), max_bytes=max_bytes) if done else None

    def _listen(self) -> "asyncio.Task[Any]":
        """Receive continuously: only then is it noticed that the client has left."""
        if self._incoming is None:
            self._incoming = asyncio.ensure_future(self._receive())
        return self._incoming

    def _read(self, received: Message, *, max_bytes: int | None = None) -> Fields:
        self._incoming = None  # ready for the next message
        if received["type"] == "websocket.disconnect":
            raise _Left
        text = received.get("text")
        if text is not None and max_bytes is not None and len(text.encode()) > max_bytes:
            message = f"The first message has at most {max_bytes:,} bytes."
            raise _HangUp(sockets.TOO_BIG, ApiError("too_large", message, http_status=413))
        try:
            fields = json.loads(text or "")
        except (ValueError, RecursionError):
            fields = None
        if not isinstance(fields, dict):
            error = ApiError(
                "malformed_request", "Each message must be a JSON object, sent as text."
            )
            raise _HangUp(sockets.POLICY, error)
        return fields

    # -- questions -------------------------------------------------------------------------

    async def _handle(self, message: Fields) -> None:
        kind, id_ = message.pop("type", None), message.pop("id", None)
        message.pop("key", None)
        try:
            if not _is_id(id_):
                id_ = None
                text = f"An id must be a whole number or at most {MAX_ID} characters of text."
                raise ApiError("invalid_request", text, http_status=422)
            if kind == "cancel":
                return  # its question has already ended
            if kind != "ask":
                text = "The type of a message is `ask` or `cancel`; of the first also `auth`."
                raise ApiError("invalid_request", text, http_status=422)
            with stream_limit.waiting(self._authorization):
                asked, run = await self._threads.run(self._admit, message)
                await self._answer(run, asked, id_)
        except ApiError as error:
            if error.status_code in CLOSE_CODES:
                raise _HangUp(CLOSE_CODES[error.status_code], error) from error
            await self._tell(error, id_)
        except (_Left, _HangUp, asyncio.CancelledError):
            raise
        except Exception as error:  # rejected by the serializer, or no database
            await self._tell(error, id_)

    def _admit(self, message: Fields) -> tuple[AnswerRequest, AnswerRun]:
        """Set up the context as Django's middleware and views do for a request."""
        with acting_as(Actor(address=self._address)):
            entry = authenticate(self._authorization, rate_class="answer", address=self._address)
            if entry.admission is not None:
                rate_limits.require(entry.admission)
            set_actor(KEY, entry.caller.prefix)
            if not entry.caller.may("read"):
                raise insufficient_scope("read")
            asked, _ = answer_request_of(message)
            return asked, AnswerRun(entry.caller.namespace_id, asked, door="websocket")

    async def _answer(self, run: AnswerRun, asked: AnswerRequest, id_: Any) -> None:
        """Send the events while listening for messages."""
        self._has_ended = False
        sending = asyncio.ensure_future(self._send_events(run, asked, id_))
        try:
            while not sending.done():
                listening = self._listen()
                await asyncio.wait([sending, listening], return_when=asyncio.FIRST_COMPLETED)
                if self._has_ended:  # what has been received is the next question
                    await asyncio.wait([sending])
                elif listening.done() and await self._is_cancelled(listening.result()):
                    break
        finally:
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)
            run.close()
        if not sending.cancelled():
            sending.result()
        if not self._has_ended:
            cancelled = ApiError("cancelled", "The answer was cancelled.", http_status=499)
            await self._tell(cancelled, id_)

    async def _is_cancelled(self, received: Message) -> bool:
        """Handle a message received while an answer is being written."""
        message = self._read(received)
        if message.get("type") == "cancel":
            return True
        busy = ApiError("answer_in_progress", "One question at a time.", http_status=409)
        id_ = message.get("id")
        await self._say("error", envelope_of(busy), id_ if _is_id(id_) else None)
        return False

    # -- sending -----------------------------------------------------------------------------

    async def _send_events(self, run: AnswerRun, asked: AnswerRequest, id_: Any) -> None:
        async with aclosing(answer_events(run, asked)) as events:
            async for name, data in events:
                self._has_ended = name in LAST_EVENTS
                await self._say(name or "heartbeat", data, id_)

    async def _tell(self, error: Exception, id_: Any = None) -> None:
        await self._say("error", envelope_of(error), id_)

    async def _say(self, event: str, data: Any, id_: Any = None) -> None:
        fields = {"event": event, "data": data} | ({} if id_ is None else {"id": id_})
        await self._send({"type": "websocket.send", "text": as_line(fields)})

    async def _close(self, code: int, reason: str) -> None:
        await self._send({"type": "websocket.close", "code": code, "reason": reason})


def _is_id(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) <= MAX_ID
    return value is None or (isinstance(value, int) and not isinstance(value, bool))
