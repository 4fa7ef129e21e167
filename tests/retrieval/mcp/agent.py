"""An agent: the SDK's own client, over a real socket, in either era of the protocol."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import anyio
import httpx2
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult

T = TypeVar("T")

# The handshake of 2025 and before; and each request on its own, since 2026.
ERAS = ("legacy", "2026-07-28")


async def outcome(awaited: Awaitable[T]) -> T | MCPError:
    try:
        return await awaited
    except MCPError as error:
        return error


def settled(came: T | MCPError) -> T:
    if isinstance(came, MCPError):
        raise came
    return came


@dataclass(frozen=True)
class Agent:
    url: str
    key: str
    era: str = "auto"

    def do(self, act: Callable[[Client], Awaitable[T]]) -> T:
        """Raises MCPError, by itself: the client would wrap it in groups on its way out."""

        async def run() -> T | MCPError:
            headers = {"Authorization": f"Bearer {self.key}"}
            async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
                transport = streamable_http_client(self.url, http_client=http)
                async with Client(transport, mode=self.era) as client:
                    return await outcome(act(client))

        return settled(anyio.run(run))

    def call(self, name: str, **arguments: Any) -> CallToolResult:
        async def act(client: Client) -> CallToolResult:
            return await client.call_tool(name, arguments)

        return self.do(act)

    def tools(self) -> dict[str, Any]:
        async def act(client: Client) -> Any:
            return await client.list_tools()

        return {tool.name: tool for tool in self.do(act).tools}

    def result(self, name: str, **arguments: Any) -> Any:
        """What a tool returned; the text says the same as the structured content."""
        called = self.call(name, **arguments)
        (item,) = called.content
        assert item.type == "text", called
        assert not called.is_error, item.text
        assert json.loads(item.text) == called.structured_content
        return called.structured_content

    def error(self, name: str, **arguments: Any) -> str:
        called = self.call(name, **arguments)
        (item,) = called.content
        assert called.is_error, called
        assert item.type == "text", called
        return item.text
