"""An embedding API on this machine, good and bad: the path's first part says how it behaves.

Its vectors are those of the hashing embedder, so that they mean something. What depends on how
often it was asked ("flaky", "busy") counts by the whole path, so every test has a path of its own.
"""

import base64
import json
import random
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from documents.embedders.hashing import HashingEmbedder

DIMENSIONS = 256
MODEL = HashingEmbedder(dimensions=DIMENSIONS)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    seen: list[dict[str, Any]] = []
    times: Counter[str] = Counter()
    most_at_once = 0
    _now = 0
    _lock = threading.Lock()

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        request = {
            "path": self.path,
            "key": self.headers.get("Authorization"),
            "request_id": self.headers.get("X-Request-ID"),
            "body": body,
            "at": time.monotonic(),
        }
        with self._lock:
            self.seen.append(request)
            self.times[self.path] += 1
            Handler._now += 1
            Handler.most_at_once = max(Handler.most_at_once, Handler._now)
        try:
            behaviour = self.path.strip("/").split("/")[0].replace("-", "_")
            getattr(self, behaviour)(body)
        finally:
            with self._lock:
                Handler._now -= 1

    @classmethod
    def forget(cls) -> None:
        cls.seen.clear()
        cls.times.clear()
        cls.most_at_once = 0

    @property
    def number(self) -> int:
        return self.times[self.path]

    def answer(self, body: bytes | Any, *, status: int = 200, **headers: str) -> None:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        fields = {"Content-Type": "application/json", "Content-Length": str(len(content))}
        for name, value in {**fields, **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(content)

    # -- as it should be -------------------------------------------------------

    def good(self, body: dict[str, Any]) -> None:
        self.vectors(body, MODEL.embed_batch(body["input"]))

    def vectors(self, body: dict[str, Any], vectors: list[Any]) -> None:
        if size := body.get("dimensions"):
            vectors = [vector[:size] for vector in vectors]
        tokens = sum(MODEL.count_tokens(body["input"]))
        if self.path.endswith("/api/embed"):
            answer = {"model": "m", "embeddings": vectors, "prompt_eval_count": tokens}
            self.answer(answer)
            return
        if body.get("encoding_format") == "base64":
            vectors = [base64.b64encode(struct.pack(f"<{len(v)}f", *v)).decode() for v in vectors]
        data = [{"object": "embedding", "index": i, "embedding": v} for i, v in enumerate(vectors)]
        self.answer({"data": data, "usage": {"prompt_tokens": tokens, "total_tokens": tokens}})

    def shuffled(self, body: dict[str, Any]) -> None:
        vectors = MODEL.embed_batch(body["input"])
        data = [{"index": i, "embedding": v} for i, v in enumerate(vectors)]
        random.Random(3).shuffle(data)
        self.answer({"data": data})

    def no_index(self, body: dict[str, Any]) -> None:
        self.answer({"data": [{"embedding": v} for v in MODEL.embed_batch(body["input"])]})

    def slow(self, body: dict[str, Any]) -> None:
        time.sleep(0.5)
        self.good(body)

    def doubled(self, body: dict[str, Any]) -> None:
        self.vectors(body, [[2 * x for x in v] for v in MODEL.embed_batch(body["input"])])

    # -- and as it should not ---------------------------------------------------

    def flaky(self, body: Any) -> None:
        self.answer({}, status=500) if self.number < 3 else self.good(body)

    def busy(self, body: Any) -> None:
        if self.number > 1:
            self.good(body)
        else:
            self.answer({}, status=429, Retry_After="1")

    def busy_by_date(self, body: Any) -> None:
        if self.number > 1:
            self.good(body)
        else:
            self.answer({}, status=503, Retry_After=formatdate(time.time() + 2, usegmt=True))

    def always_busy(self, body: Any) -> None:
        self.answer({}, status=429, Retry_After="3600")

    def broken(self, body: Any) -> None:
        self.answer({"error": "key sk-secret is bad"}, status=500)

    def refused(self, body: Any) -> None:
        self.answer({"error": "key sk-secret is bad"}, status=401)

    def moved(self, body: Any) -> None:
        self.answer(b"", status=307, Location="/good/embeddings")

    def hang(self, body: Any) -> None:
        time.sleep(3)

    def hang_once(self, body: Any) -> None:
        time.sleep(2) if self.number == 1 else self.good(body)

    def drip(self, body: Any) -> None:
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        for _ in range(60):
            try:
                self.wfile.write(b" ")
            except OSError:
                return
            time.sleep(0.05)

    def cut(self, body: Any) -> None:
        self.wfile.write(b'HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{"data": [')
        self.wfile.flush()
        self.connection.shutdown(socket.SHUT_RDWR)
        self.close_connection = True

    def cut_once(self, body: Any) -> None:
        self.cut(body) if self.number == 1 else self.good(body)

    def third_batch_fails(self, body: Any) -> None:
        self.answer({}, status=400) if self.number == 3 else self.good(body)

    def html(self, body: Any) -> None:
        self.answer(b"<html>Please log in</html>", Content_Type="text/html")

    def a_list(self, body: Any) -> None:
        self.answer([1, 2])

    def nothing(self, body: Any) -> None:
        self.answer({"model": "m"})

    def too_few(self, body: Any) -> None:
        self.vectors(body, MODEL.embed_batch(body["input"])[1:])

    def wrong_dimension(self, body: Any) -> None:
        self.vectors(body, [v[:100] for v in MODEL.embed_batch(body["input"])])

    def nan(self, body: Any) -> None:
        self.vectors(body, [[float("nan"), *v[1:]] for v in MODEL.embed_batch(body["input"])])

    def zero(self, body: Any) -> None:
        self.vectors(body, [[0.0] * DIMENSIONS for _ in body["input"]])

    def words(self, body: Any) -> None:
        self.vectors(body, [["0.5"] * DIMENSIONS for _ in body["input"]])

    def null(self, body: Any) -> None:
        self.vectors(body, [[None] * DIMENSIONS for _ in body["input"]])

    def same_index(self, body: Any) -> None:
        data = [{"index": 0, "embedding": v} for v in MODEL.embed_batch(body["input"])]
        self.answer({"data": data})

    def log_message(self, *args: Any) -> None:
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64


@contextmanager
def provider() -> Iterator[str]:
    server = _Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
