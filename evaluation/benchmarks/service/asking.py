"""Questions for a corpus, a real web server to answer them, and timings."""

import os
import random
import re
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import numpy as np

_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_WORD = re.compile(r"[A-Za-z][A-Za-z'-]*")
_OPENINGS = (
    "how does {}",
    "what happens when {}",
    "why is it that {}",
    "where does it say that {}",
    "can I rely on {}",
)
PATIENCE = 120  # seconds until the server is up


def natural_questions(texts: Sequence[str], number: int) -> list[str]:
    """Make questions from consecutive words of sentences, always the same."""
    chance = random.Random(11)  # noqa: S311
    questions: dict[str, None] = {}
    while len(questions) < number:
        sentence = _WORD.findall(chance.choice(_SENTENCE.split(chance.choice(texts))))
        if len(sentence) >= 8:
            length = chance.randint(6, min(12, len(sentence)))
            start = chance.randint(0, len(sentence) - length)
            words = " ".join(sentence[start : start + length])
            questions[chance.choice(_OPENINGS).format(words)] = None
    return list(questions)


def keyword_questions(texts: Sequence[str], number: int) -> list[str]:
    """Make keyword queries of two or three longer words of one passage."""
    chance = random.Random(12)  # noqa: S311
    questions: dict[str, None] = {}
    while len(questions) < number:
        words = sorted({w.lower() for w in _WORD.findall(chance.choice(texts)) if len(w) > 4})
        if len(words) >= 3:
            questions[" ".join(chance.sample(words, chance.randint(2, 3)))] = None
    return list(questions)


def middle(seconds: Sequence[float], share: float = 50) -> float:
    """Return this percentile in milliseconds."""
    return float(np.percentile(seconds, share)) * 1000


def both(seconds: Sequence[float]) -> str:
    return f"{middle(seconds):.1f} / {middle(seconds, 95):.1f}"


@dataclass(frozen=True)
class Server:
    """The web process as `make run` starts it, on loopback."""

    url: str
    key: str
    client: httpx2.Client
    process: int

    def ask(self, query: str, **options: Any) -> tuple[float, Any]:
        """(seconds, answer)"""
        body = {"query": query, **options}
        headers = {"Authorization": f"Bearer {self.key}"}
        started = time.perf_counter()
        answer = self.client.post(f"{self.url}/api/v1/query", json=body, headers=headers)
        seconds = time.perf_counter() - started
        if answer.status_code != 200:
            raise SystemExit(f"{answer.status_code}: {answer.text[:500]}")
        return seconds, answer.json()

    def peak_megabytes(self) -> float:
        """Return the peak memory of the process, including the model."""
        with open(f"/proc/{self.process}/status") as status:
            line = next(line for line in status if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024

    def throughput(self, queries: Sequence[str], *, clients: int, **options: Any) -> float:
        """Return responses per second."""
        started = time.perf_counter()
        with ThreadPoolExecutor(clients) as threads:
            list(threads.map(lambda query: self.ask(query, **options), queries))
        return len(queries) / (time.perf_counter() - started)


@contextmanager
def running_server(key: str, *, code: Path | None = None) -> Iterator[Server]:
    """`code` is another checkout of the service, to compare with this one."""
    from ragsite.service.programs import web

    program = web()
    port = _free_port()
    argv = list(program.argv)
    argv[argv.index("--port") + 1] = str(port)
    environment = {**os.environ, **program.env}
    if code is not None:
        environment["PYTHONPATH"] = str(code.resolve())
    process = subprocess.Popen(argv, env=environment, cwd=code)  # noqa: S603
    try:
        with httpx2.Client(timeout=60) as client:
            server = Server(f"http://127.0.0.1:{port}", key, client, process.pid)
            _wait_for(server, process)
            yield server
    finally:
        process.terminate()
        process.wait(30)


@contextmanager
def running_worker() -> Iterator[int]:
    """The worker process as `make run` starts it; yields its process id."""
    from ragsite.service.programs import worker

    program = worker()
    environment = {**os.environ, **program.env}
    process = subprocess.Popen(program.argv, env=environment)  # noqa: S603
    try:
        yield process.pid
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_for(server: Server, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and process.poll() is None:
        try:
            if server.client.get(f"{server.url}/livez").status_code == 200:
                return
        except httpx2.TransportError:
            pass
        time.sleep(0.2)
    raise SystemExit("The web server did not start.")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def stages(answers: Sequence[Mapping[str, Any]]) -> str:
    """Return the median milliseconds of each stage, as reported by the service."""
    times = [answer["diagnostics"]["times_ms"] for answer in answers]
    names = list(dict.fromkeys(name for each in times for name in each))
    return ", ".join(
        f"{name} {np.median([each.get(name, 0.0) for each in times]):.1f}" for name in names
    )
