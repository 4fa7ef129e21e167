"""A chat API on this machine, good and bad, for tests of whatever talks to language models.

    with chat_server.provider() as site:
        site.url("normal")            # base address; the first part of the path is the behaviour
        site.reply_with(lambda messages: "Forty days [cite:a1].")   # what a good answer says
        site.behave("mine", lambda exchange: exchange.piece("Hello"))  # a behaviour of your own
        site.requests                 # what came: .headers (lower case), .body, .messages, .key …
        site.closed_early             # the requests whose client left before the answer's end
        site.wait_for_close(2)        # True once every client of an unfinished answer has left

One server speaks OpenAI's /chat/completions, Ollama's /api/chat and Anthropic's /v1/messages,
streamed and whole: the end of the path decides. The behaviours are the functions of
tests/chat_behaviours.py, with "-" for "_" in the address. What depends on how often it was asked
("flaky", "busy") counts by the whole path of this server.
"""

import json
import select
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from .chat_dialects import Dialect, Json, Tokens, dialect_of, dumped

Reply = Callable[[list[Json]], str]
Behaviour = Callable[["Exchange"], None]


class ClientLeft(Exception):
    """The client closed the connection before the answer's end."""


@dataclass
class Received:
    """One request as it came, and how it ended."""

    path: str
    behaviour: str
    dialect: str
    headers: dict[str, str]  # names in lower case
    body: Json
    messages: list[Json]  # of every dialect in the same shape, the system message first
    port: int  # of the client: the same for calls over one connection
    at: float = field(default_factory=time.monotonic)
    ended_at: float | None = None
    closed_early: bool = False
    pieces: int = 0  # of text that were sent

    @property
    def key(self) -> str:
        bearer = self.headers.get("authorization", "").removeprefix("Bearer ")
        return self.headers.get("x-api-key", bearer)


class Site:
    """A running server. Everything it remembers is its own."""

    def __init__(self) -> None:
        from . import chat_behaviours

        self.base = ""
        self.requests: list[Received] = []
        self.times: Counter[str] = Counter()  # requests by path
        self.pause = 0.2  # seconds between two pieces of "slow"
        self.piece_size = 7  # characters; small, so that markers are cut apart
        self.stopping = threading.Event()
        self.lock = threading.Lock()
        self.behaviours: dict[str, Behaviour] = dict(chat_behaviours.BEHAVIOURS)
        self.reply: Reply = lambda messages: f"You said: {messages[-1]['content']}"

    def url(self, behaviour: str = "normal", *more: str) -> str:
        """The base address of an API that behaves so; `more` parts make it one of its own."""
        if behaviour.replace("-", "_") not in self.behaviours:
            raise ValueError(f"the chat server knows no behaviour {behaviour!r}")
        return "/".join([self.base, behaviour, *more])

    def reply_with(self, reply: Reply | str) -> None:
        self.reply = reply if callable(reply) else lambda messages: reply

    def behave(self, name: str, behaviour: Behaviour) -> None:
        self.behaviours[name.replace("-", "_")] = behaviour

    @property
    def last(self) -> Received:
        return self.requests[-1]

    @property
    def closed_early(self) -> list[Received]:
        return [received for received in self.requests if received.closed_early]

    @property
    def unfinished(self) -> list[Received]:
        return [received for received in self.requests if received.ended_at is None]

    def wait_for_close(self, seconds: float = 30.0) -> bool:
        """Whether within so many seconds no request is left whose answer still goes on."""
        end = time.monotonic() + seconds
        while self.unfinished and time.monotonic() < end:
            time.sleep(0.01)
        return not self.unfinished

    def forget(self) -> None:
        with self.lock:
            self.requests.clear()
            self.times.clear()


class Exchange:
    """One request and the means to answer it, in whatever dialect it came."""

    def __init__(self, handler: "Handler", received: Received, dialect: Dialect) -> None:
        self.site = handler.site
        self.received = received
        self.dialect = dialect
        self._handler = handler
        self._is_open = False
        self._is_chunked = True

    @property
    def number(self) -> int:
        """How often this path has been asked, this time included."""
        return self.site.times[self.received.path]

    @property
    def is_streamed(self) -> bool:
        return self.dialect.is_streamed(self.received.body)

    def text(self) -> str:
        return self.site.reply(self.received.messages)

    def tokens(self, text: str) -> Tokens:
        """Words of the prompt and of the answer."""
        prompt = sum(len(str(m.get("content", "")).split()) for m in self.received.messages)
        return prompt, len(text.split())

    # -- a good answer -----------------------------------------------------------

    def answer(
        self, text: str, *, finish: str = "stop", usage: bool = True, pause: float = 0.0
    ) -> None:
        """The text, streamed or whole as the client wished."""
        tokens = self.tokens(text) if usage else None
        if not self.is_streamed:
            self.json(self.dialect.whole(text, finish, tokens))
            return
        self.begin(tokens)
        size = self.site.piece_size
        for start in range(0, len(text), size):
            self.piece(text[start : start + size])
            self.wait(pause)
        self.end(finish, tokens)

    def begin(self, tokens: Tokens | None = None) -> None:
        self.open()
        self.raw(self.dialect.begin(self.received.body, tokens))

    def piece(self, text: str) -> None:
        if not self._is_open:
            self.begin()
        self.raw(self.dialect.piece(text))
        self.received.pieces += 1

    def end(self, finish: str = "stop", tokens: Tokens | None = None) -> None:
        self.raw(self.dialect.end(self.received.body, finish, tokens))
        self.close()

    # -- by hand -----------------------------------------------------------------

    def json(self, value: Any, *, status: int = 200, **headers: str) -> None:
        """One JSON answer; `Retry_After="1"` is a header."""
        self.content(dumped(value).encode(), status=status, **headers)

    def content(
        self, content: bytes, *, status: int = 200, kind: str = "application/json", **headers: str
    ) -> None:
        self._handler.send_response(status)
        fields = {"Content-Type": kind, "Content-Length": str(len(content)), **headers}
        for name, value in fields.items():
            self._handler.send_header(name.replace("_", "-"), value)
        self._handler.end_headers()
        self._write(content)

    def open(self, *, chunked: bool = True, kind: str = "") -> None:
        """Status and headers of a stream; without chunks its end is that of the connection."""
        self._is_open, self._is_chunked = True, chunked
        self._handler.send_response(200)
        self._handler.send_header("Content-Type", kind or self.dialect.stream_type)
        if chunked:
            self._handler.send_header("Transfer-Encoding", "chunked")
        else:
            self._handler.send_header("Connection", "close")
            self._handler.close_connection = True
        self._handler.end_headers()

    def raw(self, content: bytes) -> None:
        if content:
            framed = b"%x\r\n%s\r\n" % (len(content), content) if self._is_chunked else content
            self._write(framed)

    def unframed(self, content: bytes) -> None:
        """Bytes on the wire as they are, not even HTTP."""
        self._write(content)

    def close(self) -> None:
        """End the stream as HTTP wants it."""
        if self._is_chunked:
            self._write(b"0\r\n\r\n")

    def cut(self) -> None:
        """Close the connection in the middle of the answer."""
        self._handler.connection.shutdown(socket.SHUT_RDWR)
        self._handler.close_connection = True

    def reset(self) -> None:
        """Break the connection off with a TCP reset."""
        connection = self._handler.connection
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._handler.close_connection = True
        connection.close()

    def wait(self, seconds: float) -> None:
        """Wait, and notice at once if the client leaves."""
        end = time.monotonic() + seconds
        connection = self._handler.connection
        while (left := end - time.monotonic()) > 0 and not self.site.stopping.is_set():
            if select.select([connection], [], [], min(left, 0.05))[0]:
                try:
                    is_gone = not connection.recv(1, socket.MSG_PEEK)
                except OSError:
                    is_gone = True
                if is_gone:
                    raise ClientLeft
                time.sleep(0.01)  # the next request of the same connection waits already

    def hang(self) -> None:
        """Say nothing until the client leaves (or the server ends)."""
        self.wait(600)

    def _write(self, content: bytes) -> None:
        try:
            self._handler.wfile.write(content)
            self._handler.wfile.flush()
        except OSError:
            raise ClientLeft from None


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # connections are kept, as a provider's are
    disable_nagle_algorithm = True
    timeout = 60  # seconds a client may keep us waiting
    site: Site

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        path = self.path.split("?")[0]
        dialect = dialect_of(path)
        name = path.strip("/").split("/")[0].replace("-", "_")
        behaviour = self.site.behaviours.get(name)
        if dialect is None or behaviour is None:
            self.send_error(404)
            return
        body = json.loads(content)
        headers = {key.lower(): value for key, value in self.headers.items()}
        messages = dialect.messages(body)
        port = self.client_address[1]
        received = Received(path, name, dialect.name, headers, body, messages, port)
        with self.site.lock:
            self.site.requests.append(received)
            self.site.times[path] += 1
        try:
            behaviour(Exchange(self, received, dialect))
        except (ClientLeft, ConnectionError):
            received.closed_early = True
            self.close_connection = True
        finally:
            received.ended_at = time.monotonic()

    def log_message(self, *args: Any) -> None:
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def handle_error(self, *args: Any) -> None:
        pass  # a connection that was reset on purpose


@contextmanager
def provider() -> Iterator[Site]:
    site = Site()
    handler = type("SiteHandler", (Handler,), {"site": site})
    server = _Server(("127.0.0.1", 0), handler)
    site.base = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield site
    finally:
        site.stopping.set()
        server.shutdown()
        server.server_close()
