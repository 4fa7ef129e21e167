"""A receiver on this machine that answers as told, and workers that may send to it."""

import ipaddress
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from documents.webhooks import endpoints
from documents.webhooks.sending import Sender
from ragsite.access.addresses import AddressPolicy

ANY_PORT = range(1, 65536)
LOOPBACK_TOO = AddressPolicy(allowed=(ipaddress.ip_network("127.0.0.1/32"),))
SENDER = Sender(seconds=2, ports=ANY_PORT, allow_http=True, policy=LOOPBACK_TOO)


@dataclass(frozen=True)
class Received:
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Receiver:
    """Answers 200, or what `answers` holds next: a status, headers and a body, or a delay."""

    url: str = ""
    received: list[Received] = field(default_factory=list)
    answers: list[tuple[int, dict[str, str], bytes]] = field(default_factory=list)
    delay: float = 0

    def respond(self, status: int, body: bytes = b"", **headers: str) -> None:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.answers.append((status, named, body))


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    told = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            lowered = {name.lower(): value for name, value in self.headers.items()}
            told.received.append(Received(self.path, lowered, self.rfile.read(length)))
            time.sleep(told.delay)
            status, headers, body = told.answers.pop(0) if told.answers else (200, {}, b"thanks")
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    told.url = f"http://127.0.0.1:{server.server_port}/hook?token=s3cret"
    monkeypatch.setattr(endpoints, "sender", lambda: SENDER)
    yield told
    server.shutdown()
