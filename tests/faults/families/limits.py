"""Files that need too much, readers that are killed, and a Redis that goes."""

import shutil
import socket
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import psutil

from tests.project.service import free_port

from ..outcomes import NotPossibleHere, Outcome, fault
from ..stage import Stage, Tenant, Theatre, until

MEMORY_MB = 300
WRONG_KEYS = 20  # a minute


def _greedy(kilobytes: int) -> bytes:
    """HTML whose tree takes many times its size."""
    rows = b"<p>a <b>b</b> <i>c</i></p>\n"
    return b"<html><body>" + rows * (kilobytes * 2**10 // len(rows)) + b"</body></html>"


def _readers(stage: Stage) -> list[psutil.Process]:
    """The forks that read a file, below each worker's sandbox process."""
    found = []
    for worker in stage.service.workers():
        with suppress(psutil.Error):
            for child in worker.children(recursive=True):
                if any("sandbox_worker" in part for part in child.cmdline()):
                    found.append(child)
    return found


def _send(tenant: Tenant, name: str, content: bytes) -> str:
    files = {"file": (name, content)}
    sent = tenant.client.post("ingest", files=files)
    assert sent.status_code == 202, sent.text
    document_id = str(sent.json()["results"][0]["document_id"])
    tenant.stage.ledger.note(tenant.slug, document_id, content)
    return document_id


@fault("F24", "files that need too much memory, and readers killed with -9", trials=3,
       own_stage=True)  # fmt: skip
def readers(theatre: Theatre, outcome: Outcome) -> None:
    with theatre.own_stage(EXTRACT_MEMORY_MB=str(MEMORY_MB)) as stage:
        tenant = stage.tenant(profile="steady")
        tenant.wait_for(tenant.upload("base"))
        workers = {process.pid for process in stage.service.workers()}
        for trial in range(outcome.trials):
            too_large = _send(
                tenant, f"greedy-{trial}.html", _greedy(9 * 1024) + str(trial).encode()
            )
            stage.ledger.expect(too_large, "failed")
            good = tenant.upload(f"beside-{trial}")
            outcome.require(tenant.wait_for(good) == "ready", "a good document beside it failed")
            tenant.wait_for(too_large)
            code = (tenant.get(f"documents/{too_large}").json().get("error") or {}).get("code")
            outcome.require(code == "resource_limit", f"the greedy file's error is {code}")
            _kill_readers(stage, tenant, outcome, trial)
        left = {process.pid for process in stage.service.workers()}
        outcome.require(workers <= left, f"{len(workers - left)} workers died with their readers")
        outcome.figures["workers restarted"] = len(workers - left)
        stage.judge(outcome, tenant)


def _kill_readers(stage: Stage, tenant: Tenant, outcome: Outcome, trial: int) -> None:
    """Kill whatever reads a file, while it reads; the document is tried again."""
    document_id = _send(tenant, f"long-{trial}.html", _greedy(100) + str(trial).encode())
    killed = 0
    with suppress(AssertionError):
        until(lambda: len(_readers(stage)) > 1, seconds=20, every=0.01)
        for process in _readers(stage):
            with suppress(psutil.NoSuchProcess):
                process.kill()
                killed += 1
    killed_at = time.monotonic()
    outcome.require(tenant.wait_for(document_id) == "ready", "its document did not become ready")
    outcome.recovery.append(time.monotonic() - killed_at)
    outcome.figures["readers killed"] = int(outcome.figures.get("readers killed", 0)) + killed


class Redis:
    """A small Redis that throws out what it holds."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, free_port()
        self.program = shutil.which("redis-server") or ""
        if not self.program:
            raise NotPossibleHere("redis-server is not installed")

    def __enter__(self) -> "Redis":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def start(self) -> None:
        command = [self.program, "--port", str(self.port), "--bind", "127.0.0.1"]
        command += ["--dir", str(self.folder), "--save", ""]
        command += ["--maxmemory", "3mb", "--maxmemory-policy", "allkeys-random"]
        self.process = psutil.Popen(command, stdout=subprocess.DEVNULL)
        until(lambda: self.tell("PING") == b"+PONG", seconds=20)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def tell(self, command: str) -> bytes:
        with (
            suppress(OSError),
            socket.create_connection(("127.0.0.1", self.port), timeout=2) as connection,
        ):
            connection.sendall(command.encode() + b"\r\n")
            return connection.recv(100).strip()
        return b""


def _ask(tenant: Tenant, outcome: Outcome, when: str, *, times: int = 10) -> None:
    """Questions must be answered, with a Redis or without."""
    for n in range(times):
        answer = tenant.query(f"Who noted line {n} {when}?")
        found = answer.status_code == 200 and bool(answer.json()["results"])
        outcome.require(found, f"{when}: {answer.status_code} {answer.text[:200]}")


def _wrong_keys_are_limited(stage: Stage, outcome: Outcome, when: str) -> None:
    with stage.client("rs_000000000000_" + "A" * 43) as client:
        codes = {client.get("documents").status_code for _ in range(WRONG_KEYS + 5)}
    outcome.require(codes <= {401, 429}, f"{when}: wrong keys are answered {codes}")
    outcome.require(429 in codes, f"{when}: {WRONG_KEYS + 5} wrong keys were not limited")


@fault("F22", "Redis evicts, is flushed, hangs, is killed and comes back", trials=2,
       own_stage=True)  # fmt: skip
def redis_gone(theatre: Theatre, outcome: Outcome) -> None:
    settings = {"WRONG_KEYS_PER_MINUTE": str(WRONG_KEYS)}
    with Redis(theatre.folder) as redis:
        settings["CACHE_URL"] = f"redis://127.0.0.1:{redis.port}/0"
        with theatre.own_stage(**settings) as stage:
            tenant = stage.tenant(profile="steady")
            tenant.wait_for(tenant.upload("base"))
            for trial in range(outcome.trials):
                _ask(tenant, outcome, f"evicting, {trial}")
                redis.tell("FLUSHALL")
                _ask(tenant, outcome, f"flushed, {trial}")
                redis.process.suspend()
                _ask(tenant, outcome, f"hanging, {trial}")
                _wrong_keys_are_limited(stage, outcome, f"hanging, {trial}")
                redis.process.resume()
                redis.kill()
                _ask(tenant, outcome, f"gone, {trial}")
                _wrong_keys_are_limited(stage, outcome, f"gone, {trial}")
                tenant.wait_for(tenant.upload(f"log-{trial}"))
                came_back = time.monotonic()
                redis.start()
                _ask(tenant, outcome, f"back, {trial}")
                outcome.recovery.append(time.monotonic() - came_back)
            stage.judge(outcome, tenant)
