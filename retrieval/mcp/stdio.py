"""The protocol over standard input and output, for a client that starts the server as a child
process."""

import uuid
from collections.abc import Callable
from typing import Any

import anyio
from django.conf import settings
from django.db import connections
from mcp.server.stdio import stdio_server

from ragsite.access.actor import Actor
from ragsite.access.auth import Caller
from ragsite.web.threads import RequestThreads
from retrieval.candidates import side_thread

from .calls import CallThreads, ToolCall
from .server import McpServer

CallerOf = Callable[[], tuple[Caller, Actor]]


def serve(caller_of: CallerOf) -> None:
    """Serve until the client closes our input. `caller_of` is called for each request and raises
    ApiError, so that a revoked key stops working."""
    connections.close_all()  # the command's own
    side_thread.disable()
    anyio.run(_serve, caller_of)


async def _serve(caller_of: CallerOf) -> None:
    # No connection is kept between calls, because a client may leave the process running for days.
    threads = RequestThreads()

    def ask() -> tuple[Caller, Actor]:
        try:
            return caller_of()
        finally:
            connections.close_all()

    async def call_of(ctx: Any) -> ToolCall:
        caller, actor = await threads.run(ask)
        return ToolCall(caller, actor, str(uuid.uuid4()), f"http://localhost:{settings.PORT}")

    calls = CallThreads(threads, when_done=connections.close_all)
    sdk = McpServer(threads=calls, call_of=call_of).sdk
    async with stdio_server() as (read_stream, write_stream):
        await sdk.run(read_stream, write_stream, sdk.create_initialization_options())
