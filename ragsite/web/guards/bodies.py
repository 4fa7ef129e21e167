"""Decides from a request's headers whether its body is read at all, and then how long that takes.

Django's ASGI handler spools the whole body to disk before any middleware or view runs, so this
is the only place where a limit limits anything. Nobody makes us store more than 64 kB before we
know who it is: beyond that the key is looked up in the database first.
"""

import asyncio
import errno
import time
from collections.abc import Callable, Hashable
from functools import partial
from http.cookies import CookieError, SimpleCookie
from importlib import import_module

from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.db import InterfaceError, OperationalError
from psycopg_pool import PoolTimeout

from ragsite.access.auth import find_caller, is_well_formed
from ragsite.access.client_address import address_of_scope
from ragsite.database.tenancy import operator
from ragsite.platform.asgi_types import Application, Message, Receive, Scope, Send, header_of
from ragsite.platform.errors import ApiError
from ragsite.web.threads import RequestThreads

from .refusals import Exchange, Refusal
from .routes import STRANGER_BYTES, Proof, body_rule
from .slots import SlotResult, Slots

RETRY_AFTER = 5  # seconds
OPERATORS = "operators"  # who owns the large bodies that are sent to the admin


class MinimumRate:
    """A body must keep up a minimum rate. Whoever is faster earns time, but never more than
    `seconds` of it: a client that stops is cut off, however much it has sent before."""

    def __init__(
        self, *, seconds: float, min_rate: float, now: Callable[[], float] = time.monotonic
    ) -> None:
        self.seconds, self.min_rate, self.now = seconds, min_rate, now
        self._deadline = now() + seconds

    def remaining(self) -> float:
        return max(0.0, self._deadline - self.now())

    def received(self, count: int) -> None:
        latest = self.now() + self.seconds
        self._deadline = min(self._deadline + count / self.min_rate, latest)


class BodyGuard:
    """Wraps an application: only bodies that pass reach it."""

    def __init__(self, application: Application, *, threads: RequestThreads) -> None:
        self.application, self.threads = application, threads
        limits = settings.BODIES
        self.slots = Slots(per_owner=limits["large_per_namespace"], total=limits["large"])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not _has_body(scope):
            await self.application(scope, receive, send)
            return
        exchange = _BodyExchange(scope, receive, send, slots=self.slots, threads=self.threads)
        try:
            await exchange.run(self.application)
        finally:
            exchange.release()


class _BodyExchange(Exchange):
    def __init__(
        self, scope: Scope, receive: Receive, send: Send, *, slots: Slots, threads: RequestThreads
    ) -> None:
        super().__init__(scope, receive, send)
        self.slots, self.threads = slots, threads
        self.rule = body_rule(scope["path"])
        self.received = 0
        self.owner: Hashable | None = None
        self.pace = MinimumRate(
            seconds=settings.BODIES["timeout"], min_rate=settings.BODIES["min_bytes_per_second"]
        )

    async def run(self, application: Application) -> None:
        await super().run(self._checked(application))

    def _checked(self, application: Application) -> Application:
        async def run(scope: Scope, receive: Receive, send: Send) -> None:
            try:
                await self._check_headers()
                await application(scope, receive, send)
            except OSError as error:
                if self.started or error.errno not in (errno.ENOSPC, errno.EDQUOT):
                    raise
                self.refuse(Refusal(507, "storage_full", "There is no room left for this request."))

        return run

    async def _check_headers(self) -> None:
        declared = _declared_length(self.scope)
        if declared > self.rule.max_bytes:
            self._refuse_size(self.rule.max_bytes)
        if self.rule.proof is Proof.KEY:
            authorization = header_of(self.scope, b"authorization")
            if not authorization:
                message = "Send your API key as `Authorization: Bearer <key>`."
                self.refuse(Refusal(401, "not_authenticated", message))
            if not is_well_formed(authorization):
                self.refuse(Refusal(401, "invalid_key", "This API key is not valid."))
        if declared > STRANGER_BYTES:
            await self._admit_large()

    async def receive(self) -> Message:
        if self.body_is_complete:
            return await self._receive()  # waits for the client to leave, as long as it takes
        try:
            async with asyncio.timeout(self.pace.remaining()):
                message = await self._receive()
        except TimeoutError:
            self.refuse(Refusal(408, "body_timeout", "The request body came too slowly."))
        count = len(message.get("body", b""))
        self.received += count
        self.pace.received(count)
        if not message.get("more_body"):
            self.body_is_complete = True
        if self.received > self.rule.max_bytes:
            self._refuse_size(self.rule.max_bytes)
        if self.received > STRANGER_BYTES and self.owner is None:
            await self._admit_large()
        if self.body_is_complete:
            self.release()
        return message

    async def _admit_large(self) -> None:
        """Only from somebody we know, and only so many at once."""
        owner = await self._find_owner()
        taken = self.slots.take(owner)
        if taken is SlotResult.OWNER_FULL:
            message = f"You are already sending {self.slots.per_owner} large bodies at once."
            self.refuse(Refusal(429, "too_many_uploads", message, retry_after=RETRY_AFTER))
        if taken is SlotResult.ALL_FULL:
            message = "Too many large bodies are being received; try again shortly."
            self.refuse(Refusal(503, "busy", message, retry_after=RETRY_AFTER))
        self.owner = owner

    async def _find_owner(self) -> Hashable:
        try:
            if self.rule.proof is Proof.KEY:
                authorization = header_of(self.scope, b"authorization")
                address = address_of_scope(self.scope)
                caller = await self.threads.run(
                    partial(find_caller, authorization, address=address)
                )
                return caller.namespace_id
            if await self.threads.run(_is_signed_in, header_of(self.scope, b"cookie")):
                return OPERATORS
        except ApiError as error:  # the key is not valid, or too many of those have come
            wait = error.retry_after or 0
            refusal = Refusal(error.status_code, error.code, str(error.detail), retry_after=wait)
            self.refuse(refusal)
        except (OperationalError, InterfaceError, PoolTimeout):
            message = "The database cannot be reached right now; try again shortly."
            self.refuse(Refusal(503, "unavailable", message, retry_after=RETRY_AFTER))
        self._refuse_size(STRANGER_BYTES)
        raise AssertionError  # for the type checker: the line above raises

    def _refuse_size(self, limit: int) -> None:
        message = f"The request body exceeds {limit:,} bytes."
        self.refuse(Refusal(413, "too_large", message))

    def release(self) -> None:
        if self.owner is not None:
            self.slots.give_back(self.owner)
            self.owner = None


def _has_body(scope: Scope) -> bool:
    return _declared_length(scope) > 0 or bool(header_of(scope, b"transfer-encoding"))


def _declared_length(scope: Scope) -> int:
    value = header_of(scope, b"content-length")
    return int(value) if value.isdecimal() and value.isascii() else 0


def _is_signed_in(cookies: str) -> bool:
    try:
        cookie = SimpleCookie(cookies).get(settings.SESSION_COOKIE_NAME)
    except CookieError:
        return False
    if cookie is None:
        return False
    store = import_module(settings.SESSION_ENGINE).SessionStore
    with operator():
        return SESSION_KEY in store(cookie.value).load()
