"""A provider on this machine, good and bad: the path's first part says how it behaves."""

import json
import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


def _grade(query: str, text: str) -> float:
    """Share of the query's words that the text holds: enough to tell passages apart."""
    words, held = set(query.lower().split()), set(text.lower().split())
    return len(words & held) / (len(words) or 1)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # connections are kept, as a provider's are
    disable_nagle_algorithm = True
    seen: list[dict[str, Any]] = []

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.seen.append(
            {
                "path": self.path,
                "key": self.headers.get("Authorization"),
                "body": body,
                "port": self.client_address[1],
            }
        )
        behaviour = self.path.strip("/").split("/")[0].replace("-", "_")
        getattr(self, behaviour)(body)

    def answer(self, body: bytes | Any, *, status: int = 200, **headers: str) -> None:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        fields = {"Content-Type": "application/json", "Content-Length": str(len(content))}
        for name, value in {**fields, **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(content)

    # -- as it should be -------------------------------------------------------

    def results(self, body: dict[str, Any]) -> list[dict[str, Any]]:
        scored = [
            {"index": index, "relevance_score": _grade(body["query"], text)}
            for index, text in enumerate(body["documents"])
        ]
        return sorted(scored, key=lambda r: -r["relevance_score"])[: body["top_n"]]

    def good(self, body: dict[str, Any]) -> None:
        if self.path.endswith("/rerank"):
            self.answer({"id": "1", "results": self.results(body)})
        else:
            self.grades(body)

    def grades(self, body: dict[str, Any]) -> None:
        shown = body["messages"][1]["content"]
        pieces = re.findall(r"<data-\w+ (query|passage \d+)>\n(.*?)\n</data-\w+>", shown, re.DOTALL)
        query = pieces[0][1]
        scores = {name.split()[1]: round(100 * _grade(query, text)) for name, text in pieces[1:]}
        self.says(json.dumps({"scores": scores}))

    def says(self, content: Any) -> None:
        self.answer({"choices": [{"message": {"role": "assistant", "content": content}}]})

    # -- and as it should not ---------------------------------------------------

    def broken(self, body: Any) -> None:
        self.answer({"error": "key sk-secret is bad"}, status=500)

    def busy(self, body: Any) -> None:
        self.answer({}, status=429, Retry_After="3600")

    def refused(self, body: Any) -> None:
        self.answer({}, status=401)

    def moved(self, body: Any) -> None:
        self.answer(b"", status=307, Location="/good/rerank")

    def hang(self, body: Any) -> None:
        time.sleep(3)

    def header_drip(self, body: Any) -> None:
        self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Long: ")
        self._drip()

    def body_drip(self, body: Any) -> None:
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        self._drip()

    def _drip(self) -> None:
        for _ in range(1200):
            try:
                self.wfile.write(b" ")
            except OSError:
                return  # they left, as they should
            time.sleep(0.05)

    def cut(self, body: Any) -> None:
        content = json.dumps({"results": self.results(body)}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[: len(content) // 2])
        self.wfile.flush()
        self.connection.shutdown(socket.SHUT_RDWR)
        self.close_connection = True

    def no_answer(self, body: Any) -> None:
        self.connection.shutdown(socket.SHUT_RDWR)
        self.close_connection = True

    def html(self, body: Any) -> None:
        self.answer(b"<html>Please log in</html>", Content_Type="text/html")

    def endless(self, body: Any) -> None:
        self.answer(b" " * 3_000_000)

    def deep(self, body: Any) -> None:
        self.answer(b"[" * 100_000)

    def a_list(self, body: Any) -> None:
        self.answer([1, 2])

    def no_results(self, body: Any) -> None:
        self.answer({"data": []})

    def missing_index(self, body: Any) -> None:
        self.answer({"results": self.results(body)[1:]})

    def same_index(self, body: Any) -> None:
        self.answer({"results": [self.results(body)[0]] * len(body["documents"])})

    def far_index(self, body: Any) -> None:
        self.answer({"results": [*self.results(body)[1:], {"index": 99, "relevance_score": 1}]})

    def word_index(self, body: Any) -> None:
        self.answer({"results": [{**r, "index": str(r["index"])} for r in self.results(body)]})

    def nan(self, body: Any) -> None:
        self.answer(
            {"results": [{**r, "relevance_score": float("nan")} for r in self.results(body)]}
        )

    def huge_number(self, body: Any) -> None:
        self.answer({"results": [{**r, "relevance_score": 10**400} for r in self.results(body)]})

    def no_score(self, body: Any) -> None:
        self.answer({"results": [{"index": r["index"]} for r in self.results(body)]})

    def chatty(self, body: Any) -> None:
        self.says('Sure! Here you are: {"scores": {"1": 1, "2": 2, "3": 3}}')

    def too_few_grades(self, body: Any) -> None:
        self.says('{"scores": {"1": 10, "2": 20}}')

    def too_many_grades(self, body: Any) -> None:
        self.says('{"scores": {"1": 10, "2": 20, "3": 30, "4": 40}}')

    def grade_out_of_range(self, body: Any) -> None:
        self.says('{"scores": {"1": 10, "2": 20, "3": 1000}}')

    def grade_in_words(self, body: Any) -> None:
        self.says('{"scores": {"1": "high", "2": 20, "3": 30}}')

    def no_content(self, body: Any) -> None:
        self.says(None)

    def log_message(self, *args: Any) -> None:
        pass


@contextmanager
def provider() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
