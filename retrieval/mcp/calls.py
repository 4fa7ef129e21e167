"""A client's request on its way through the server, and the threads that do its work."""

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import copy_context
from dataclasses import dataclass
from typing import Any, TypeVar

from django.conf import settings

from ragsite.access.actor import Actor, acting_as
from ragsite.access.auth import Caller
from ragsite.access.rate_limits import Admission
from ragsite.platform.asgi_types import Message, Receive
from ragsite.platform.errors import ApiError
from ragsite.platform.logs import request_id
from ragsite.web.client_watch import ClientWatch, watched
from ragsite.web.guards.slots import SlotResult, Slots
from ragsite.web.threads import RequestThreads
from retrieval.tools.base import ToolContext

T = TypeVar("T")

RETRY_AFTER = 5  # seconds

slots = Slots(per_owner=settings.MCP["per_namespace"], total=settings.MCP["at_once"])


async def nothing_more() -> Message:
    """Never returns: a client that disconnects is noticed because its request is cancelled."""
    await asyncio.Event().wait()
    raise AssertionError


@dataclass(slots=True)
class ToolCall:
    """The caller, its address, and a way to notice that it has disconnected."""

    caller: Caller
    actor: Actor
    request_id: str
    base_url: str
    receive: Receive = nothing_more
    admission: Admission | None = None  # what remains of the rate limit that applies

    @property
    def context(self) -> ToolContext:
        caller = self.caller
        return ToolContext(
            caller.namespace_id, caller.key_id, caller.scopes, self.request_id, self.base_url
        )


CallOf = Callable[[Any], Awaitable[ToolCall]]  # from the SDK's context of a request


class CallThreads:
    """Runs calls in threads, at most MCP_CALLS_AT_ONCE at the same time."""

    def __init__(
        self, threads: RequestThreads, *, when_done: Callable[[], None] = lambda: None
    ) -> None:
        self.threads, self.when_done = threads, when_done

    async def run(self, call: ToolCall, work: Callable[[], T]) -> T:
        """Raises ApiError if too many calls are running. A client that disconnects ends its
        answer."""
        owner = call.caller.namespace_id
        _take_slot(owner)

        def step() -> T:
            try:
                with request_id(call.request_id), acting_as(call.actor):
                    return work()
            finally:
                self.when_done()

        watch = ClientWatch(call.receive)
        with watched(watch):
            try:
                working = self.threads.submit(copy_context().run, step)
                # Only when the thread has ended: it continues after its call is cancelled.
                working.add_done_callback(lambda _: slots.give_back(owner))
                return await asyncio.wrap_future(working)
            except asyncio.CancelledError:
                watch.leave()
                raise
            finally:
                await watch.stop()


def _take_slot(owner: Any) -> None:
    taken = slots.take(owner)
    if taken is SlotResult.OWNER_FULL:
        message = f"This namespace has {slots.per_owner} calls under way; try again shortly."
        raise ApiError("too_many_calls", message, http_status=429, retry_after=RETRY_AFTER)
    if taken is SlotResult.ALL_FULL:
        message = "Too many calls are under way; try again shortly."
        raise ApiError("busy", message, http_status=503, retry_after=RETRY_AFTER)
