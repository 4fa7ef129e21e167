"""The web application on a real uvicorn in this process, so that tests can script its pipeline."""

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
import uvicorn

from ragsite.web import shutdown
from ragsite.web.guards.cross_origin import CrossOrigin
from ragsite.web.guards.guard import guarded
from ragsite.web.http_protocol import GuardedProtocol
from ragsite.web.lifespan import Lifespan
from ragsite.web.one_thread import OneThreadHandler
from ragsite.web.paths import PathRoutes, TidyPaths
from ragsite.web.sockets import SocketRoutes
from ragsite.web.threads import RequestThreads
from retrieval.api.answers.socket import PATH, AnswerSocket
from retrieval.mcp.http_door import PATH as MCP
from retrieval.mcp.http_door import PATHS, McpDoor

from .service import free_port, until

MAX_MESSAGE_BYTES = 512 * 1024


@dataclass(frozen=True)
class Site:
    port: int
    server: uvicorn.Server

    def client(self, key: str) -> httpx2.Client:
        return httpx2.Client(
            base_url=f"{self.url}/api/v1/",
            headers={"Authorization": f"Bearer {key}", "Host": "localhost"},
            timeout=30,
        )

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def mcp_url(self) -> str:
        return f"{self.url}{MCP}"

    @property
    def socket_url(self) -> str:
        return f"ws://127.0.0.1:{self.port}{PATH}"


@contextmanager
def serving() -> Iterator[Site]:
    threads, port = RequestThreads(), free_port()
    door = McpDoor(threads=threads)
    sockets = {PATH: AnswerSocket(threads=threads)}
    routes = PathRoutes(OneThreadHandler(threads=threads), paths=dict.fromkeys(PATHS, door))
    inside = guarded(SocketRoutes(routes, sockets=sockets), threads=threads)
    application = CrossOrigin(TidyPaths(inside))
    config = uvicorn.Config(
        Lifespan(application, during=door.running),  # type: ignore[arg-type]
        host="127.0.0.1",
        port=port,
        http=GuardedProtocol,
        lifespan="on",
        proxy_headers=False,
        log_config=None,
        ws_max_size=MAX_MESSAGE_BYTES,
        timeout_graceful_shutdown=10,
    )
    server = uvicorn.Server(config)
    shutdown.reset()
    thread = threading.Thread(target=lambda: asyncio.run(server.serve()), daemon=True)
    thread.start()
    try:
        until(lambda: server.started, seconds=20, every=0.02)
        yield Site(port, server)
    finally:
        server.should_exit = True
        thread.join(20)
        shutdown.reset()
    assert not thread.is_alive()


def events_in(text: str) -> list[tuple[str, Any]]:
    """(name, data) of each event; comments are ("", the comment)."""
    found: list[tuple[str, Any]] = []
    for block in text.split("\n\n"):
        if block.startswith(":"):
            found.append(("", block[1:].strip()))
        elif block:
            name, data = block.split("\n")
            found.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return found
