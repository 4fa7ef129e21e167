"""The embedding API that the service on stage depends on: steady, or as a trial scripts it."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from typing import Any

from tests.embedding_server import DIMENSIONS, MODEL, Handler

Script = Callable[["StageHandler", dict[str, Any]], None]
SMALL = 64  # dimensions of the other model, for reindexing


class StageHandler(Handler):
    """`/steady` always answers well; `/scripted` does what the running trial says."""

    script: Script | None = None
    seen: list[dict[str, Any]] = []
    embedded = 0  # texts for which vectors were sent

    def steady(self, body: dict[str, Any]) -> None:
        self.good(body)

    def scripted(self, body: dict[str, Any]) -> None:
        script = type(self).script
        script(self, body) if script else self.good(body)

    def small(self, body: dict[str, Any]) -> None:
        self.vectors(body, [vector[:SMALL] for vector in MODEL.embed_batch(body["input"])])

    def good(self, body: dict[str, Any]) -> None:
        with self._lock:
            StageHandler.embedded += len(body["input"])
        super().good(body)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: clients that are killed in the middle are what we are here for."""


@contextmanager
def embedding_api() -> Iterator[str]:
    server = _Server(("127.0.0.1", 0), StageHandler)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def scripted(script: Script) -> Iterator[None]:
    StageHandler.script = staticmethod(script)  # type: ignore[assignment]
    try:
        yield
    finally:
        StageHandler.script = None


class Hold:
    """A script that lets some calls pass, then holds the next ones until released."""

    def __init__(self, after: int = 0) -> None:
        self.after = after
        self.reached = threading.Event()
        self.released = threading.Event()
        self.port = 0  # of the client that is held
        self._calls = 0

    def __call__(self, handler: StageHandler, body: dict[str, Any]) -> None:
        self._calls += 1
        if self._calls > self.after and not self.released.is_set():
            self.port = handler.client_address[1]
            self.reached.set()
            self.released.wait(120)
        handler.good(body)


def paced(seconds: float) -> Script:
    def answer(handler: StageHandler, body: dict[str, Any]) -> None:
        time.sleep(seconds)
        handler.good(body)

    return answer


def embedders(address: str) -> dict[str, Any]:
    """The setting EMBEDDERS: small batches, so that there is a middle to be killed in."""

    def entry(behaviour: str, dimensions: int, **options: Any) -> dict[str, Any]:
        fixed = {"url": f"{address}/{behaviour}", "model": behaviour, "dimensions": dimensions}
        times = {"retries": 2, "timeout": 4, "deadline": 15, "query_deadline": 4}
        return {"BACKEND": "openai", "OPTIONS": {**fixed, **times, "batch_size": 2, **options}}

    return {
        "steady": entry("steady", DIMENSIONS, batch_size=16),
        "scripted": entry("scripted", DIMENSIONS, concurrency=1),
        "small": entry("small", SMALL, batch_size=16),
    }
