"""Clients that cost little themselves: they share the machine with what they measure."""

import http.client
import json
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count
from typing import Any
from urllib.parse import urlsplit

TIMEOUT = 120


@dataclass(frozen=True, slots=True)
class Outcome:
    """One request: its place in the list, when it began, how long it took, what came."""

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

    def post(self, path: str, body: bytes, *, number: int = 0) -> Outcome:
        started = time.perf_counter()
        try:
            self._connection.request("POST", path, body, self._headers)
            response = self._connection.getresponse()
            status, content = response.status, response.read()
        except (OSError, http.client.HTTPException):
            self._connection.close()
            status, content = 0, b""
        return Outcome(number, started, time.perf_counter() - started, status, content)


def ask_all(
    url: str, key: str, bodies: Sequence[Any], *, clients: int, path: str = "/api/v1/query"
) -> tuple[float, list[Outcome]]:
    """Send every body once, in order, each client its next when it has an answer. Return the
    seconds for all of them, and the outcomes."""
    packed = [json.dumps(body).encode() for body in bodies]
    numbers, lock = count(), threading.Lock()

    def take() -> int:
        with lock:
            return next(numbers)

    def work(client: Client) -> list[Outcome]:
        found = []
        while (number := take()) < len(packed):
            found.append(client.post(path, packed[number], number=number))
        return found

    started = time.perf_counter()
    with ThreadPoolExecutor(clients) as threads:
        each = list(threads.map(work, [Client(url, key) for _ in range(clients)]))
    seconds = time.perf_counter() - started
    return seconds, sorted((o for some in each for o in some), key=lambda o: o.number)


def ask_until(
    is_over: Callable[[], bool], url: str, key: str, bodies: Sequence[Any], *, pause: float = 0
) -> list[Outcome]:
    """Ask with one client, again from the first when all were asked, until `is_over`."""
    client, packed = Client(url, key), [json.dumps(body).encode() for body in bodies]
    outcomes: list[Outcome] = []
    while not is_over():
        number = len(outcomes)
        outcomes.append(client.post("/api/v1/query", packed[number % len(packed)], number=number))
        if pause:
            time.sleep(pause)
    return outcomes
