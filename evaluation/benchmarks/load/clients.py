"""Clients that use little CPU, because they share the machine with the service they measure."""

import http.client
import json
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count
from typing import Any
from urllib.parse import urlsplit

TIMEOUT = 120


@dataclass(frozen=True, slots=True)
class TimedReply:
    """One request: its index in the list, its start, its duration and its response."""

    number: int
    started: float
    seconds: float
    status: int
    body: bytes = field(repr=False)

    def answer(self) -> Any:
        return json.loads(self.body)


class Client:
    """One connection that stays open."""

    def __init__(self, url: str, key: str) -> None:
        parts = urlsplit(url)
        self._connection = http.client.HTTPConnection(
            parts.hostname or "", parts.port, timeout=TIMEOUT
        )
        self._headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}

    def ask(self, body: Any) -> TimedReply:
        return self.post("/api/v1/query", json.dumps(body).encode())

    def post(self, path: str, body: bytes, *, number: int = 0) -> TimedReply:
        return self._send("POST", path, body, number)

    def get(self, path: str) -> TimedReply:
        return self._send("GET", path, None, 0)

    def delete(self, path: str) -> TimedReply:
        return self._send("DELETE", path, None, 0)

    def _send(self, method: str, path: str, body: bytes | None, number: int) -> TimedReply:
        started = time.perf_counter()
        status, content = 0, b""
        for _ in range(2):  # the server closes connections that were idle for a while
            try:
                status, content = self._exchange(method, path, body)
                break
            except ConnectionError:
                self._connection.close()
            except (OSError, http.client.HTTPException):
                self._connection.close()
                break
        return TimedReply(number, started, time.perf_counter() - started, status, content)

    def _exchange(self, method: str, path: str, body: bytes | None) -> tuple[int, bytes]:
        self._connection.request(method, path, body, self._headers)
        response = self._connection.getresponse()
        return response.status, response.read()


def ask_all(
    url: str, key: str, bodies: Sequence[Any], *, clients: int
) -> tuple[float, list[TimedReply]]:
    """Send every question once, in order; each client sends its next one when it has a response.
    Return the seconds for all of them, and the outcomes."""
    return ask_each(url, [(key, body) for body in bodies], clients=clients)


def ask_each(
    url: str, asked: Sequence[tuple[str, Any]], *, clients: int
) -> tuple[float, list[TimedReply]]:
    """Do the same for questions with a key each."""
    packed = [(key, json.dumps(body).encode()) for key, body in asked]
    numbers, lock = count(), threading.Lock()

    def take() -> int:
        with lock:
            return next(numbers)

    def work(_: int) -> list[TimedReply]:
        found, known = [], {key: Client(url, key) for key, _ in asked}
        while (number := take()) < len(packed):
            key, body = packed[number]
            found.append(known[key].post("/api/v1/query", body, number=number))
        return found

    started = time.perf_counter()
    with ThreadPoolExecutor(clients) as threads:
        each = list(threads.map(work, range(clients)))
    seconds = time.perf_counter() - started
    return seconds, sorted((o for some in each for o in some), key=lambda o: o.number)
