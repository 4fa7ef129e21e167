"""The service on stage: `manage.py up` with a home of its own, tenants, and what they can see."""

import hashlib
import json
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import httpx2
import psutil
import psycopg

from ragsite.postgres.embedded import EmbeddedServer
from tests.project.service import ROOT, Service

from . import provider
from .ledger import FINAL, GONE, Entry, Ledger, Seen, compare
from .outcomes import Outcome

LEASE_SECONDS = 10
PATIENCE = 180.0  # seconds within which everything acknowledged must have come to an end
START_SECONDS = 300.0  # of the first start, with all migrations, on a busy machine
IDLE_SECONDS = 5  # a transaction that has been idle for longer has been forgotten
UNLIMITED = ("search", "answer", "ingest", "read", "write", "admin", "agent", "link")

SETTINGS = {
    "JOB_LEASE_SECONDS": str(LEASE_SECONDS),
    "OPERATOR_API": "true",
    "RAGSITE_PG_FSYNC": "on",
    "RATE_LIMITS": json.dumps(dict.fromkeys(UNLIMITED, 0)),
    "REINDEX_GRACE_SECONDS": "1",
    "REINDEX_SHARE": "1.0",
    "LOG_FORMAT": "json",
}
PROFILES = {"steady": "steady", "scripted": "scripted", "small": "small"}
PARAGRAPH = "The {word} keeper {name} noted in line {n} that the sea was calm and oil ran low. "


def text_of(name: str, *, word: str = "", sections: int = 5) -> bytes:
    """A text of about five passages a section, all of them different; `word` is in each."""
    parts = [f"# Log {name}"]
    for s in range(sections):
        lines = (PARAGRAPH.format(word=word, name=name, n=s * 10 + n) for n in range(8))
        parts.append(f"## Watch {s}\n\n" + "".join(lines))
    return "\n\n".join(parts).encode()


class Stage:
    def __init__(
        self,
        home: Path,
        ledger: Ledger,
        embedding_api: str,
        *,
        code: Path = ROOT,
        **settings: str,
    ) -> None:
        embedders = json.dumps(provider.embedders(embedding_api))
        extra = {**SETTINGS, "EMBEDDERS": embedders, **settings}
        self.service = Service(home, extra=extra, code=code)
        self.ledger = ledger
        self.operator_key = ""

    @property
    def home(self) -> Path:
        return self.service.home

    def open(self) -> None:
        """Start the service, and make profiles and an operator's key if there are none."""
        self.service.start("--no-samples", seconds=START_SECONDS)
        if self.operator_key:
            return
        for name, embedder in PROFILES.items():
            self.command(
                "profile", "create", name, "--embedder", embedder, "--size", "60", "--overlap", "9"
            )
        self.operator_key = self.command("api_key", "create", "--scopes", "operator").strip()

    def close(self) -> None:
        self.service.kill_everything()

    def command(self, *arguments: str) -> str:
        done = self.service.command(*arguments)
        assert done.returncode == 0, f"{arguments}: {done.stderr[-2000:]}"
        return done.stdout

    def tenant(self, *, profile: str = "scripted") -> "Tenant":
        slug = f"t-{uuid.uuid4().hex[:10]}"
        with self.client(self.operator_key) as client:
            made = client.post("namespaces", json={"slug": slug, "profile": profile})
            assert made.status_code == 201, made.text
            scopes = {"scopes": ["read", "write", "admin"]}
            issued = client.post(f"namespaces/{slug}/keys", json=scopes)
            assert issued.status_code == 201, issued.text
        return Tenant(self, slug, made.json()["id"], issued.json()["key"])

    def client(self, key: str) -> httpx2.Client:
        return self.service.client(key)

    @contextmanager
    def database(self) -> Iterator[None]:
        """Keep the database running while the service is stopped."""
        server = EmbeddedServer(self.home)
        server.ensure_running()
        try:
            yield
        finally:
            server.release()

    # -- what the operator can see -------------------------------------------------

    def sql(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """Execute one statement as the superuser; returns its rows, if it has any."""
        folder = EmbeddedServer(self.home).socket_dir()
        address = {"host": str(folder), "user": "postgres", "dbname": "ragsite"}
        with psycopg.connect(**address, autocommit=True) as connection:
            done = connection.execute(statement, values or None)  # type: ignore[arg-type]
            return done.fetchall() if done.description else []

    def audit(self, outcome: Outcome) -> None:
        """Run the auditor and count its findings."""
        done = self.service.command("verify", "--json")
        try:
            report = json.loads(done.stdout)
        except ValueError:
            outcome.findings += 1
            outcome.remarks.append(f"verify did not run: {done.stderr[-500:]}")
            return
        outcome.findings += len(report["findings"])
        outcome.remarks += [f"audit: {finding}" for finding in report["findings"]]

    def count_leaks(self, outcome: Outcome) -> None:
        """Count stored and temporary files that nothing owns, and transactions left open."""
        with suppress(AssertionError):
            until(lambda: not self._files_of_nobody(), seconds=10, every=1)
        outcome.leak(len(self._files_of_nobody()), "stored files without a version")
        temporary = [path for path in (self.home / "tmp").rglob("*") if path.is_file()]
        outcome.leak(len(temporary), f"temporary files such as {temporary[:1]}")
        with suppress(AssertionError):
            until(lambda: not self.idle_transactions(), seconds=10, every=1)
        outcome.leak(self.idle_transactions(), "transactions left open")

    def _files_of_nobody(self) -> set[str]:
        folder = self.home / "storage"
        stored = {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}
        owned = {key for (key,) in self.sql("SELECT storage_key FROM documents_documentversion")}
        return stored - owned

    def idle_transactions(self) -> int:
        statement = (
            "SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in transaction%%' "
            "AND state_change < now() - make_interval(secs => %s)"
        )
        return int(self.sql(statement, IDLE_SECONDS)[0][0])

    def judge(self, outcome: Outcome, *tenants: "Tenant", seconds: float = PATIENCE) -> None:
        """Wait for the end of all work, then hold everything against the ledger and the rules."""
        for tenant in tenants:
            tenant.wait(seconds=seconds)
            outcome.add(compare(self.ledger.entries(tenant.slug), tenant.look))
        self.count_leaks(outcome)
        self.audit(outcome)

    # -- processes --------------------------------------------------------------------

    def postmaster(self) -> psutil.Process:
        found = [p for p in self.service.processes() if p.name() == "postgres"]
        (one,) = [p for p in found if "-D" in p.cmdline()]
        return one

    def worker_of(self, port: int) -> psutil.Process:
        """The worker process whose end of a connection has this port."""
        for process in self.service.workers():
            with suppress(psutil.Error):
                if any(c.laddr and c.laddr.port == port for c in process.net_connections("tcp")):
                    return process
        raise AssertionError(f"no worker holds port {port}")

    def web_processes(self) -> list[psutil.Process]:
        return [p for p in self.service.processes() if "uvicorn" in p.cmdline()]


@dataclass
class Tenant:
    """A namespace with its key: what a client app can do and see."""

    stage: Stage
    slug: str
    id: str
    key: str
    answers: Counter[int] = field(default_factory=Counter)

    @cached_property
    def client(self) -> httpx2.Client:
        return self.stage.client(self.key)

    def send(self, name: str, content: bytes, **fields: str) -> httpx2.Response:
        """Upload, and note it if it is acknowledged. A broken connection raises."""
        files = {"file": (f"{name}.md", content)}
        answer = self.client.post("ingest", files=files, data=fields)
        self.answers[answer.status_code] += 1
        if answer.status_code in (200, 202):
            document_id = answer.json()["results"][0]["document_id"]
            self.stage.ledger.note(self.slug, document_id, content)
        return answer

    def upload(self, name: str, content: bytes | None = None) -> str:
        """Upload until it is acknowledged; returns the document's id."""
        content = text_of(name) if content is None else content
        deadline = time.monotonic() + PATIENCE
        while True:
            with suppress(httpx2.TransportError):
                answer = self.send(name, content)
                if answer.status_code in (200, 202):
                    return str(answer.json()["results"][0]["document_id"])
                assert answer.status_code == 503, answer.text
            assert time.monotonic() < deadline, "no upload was acknowledged"
            time.sleep(0.3)

    def get(self, path: str) -> httpx2.Response:
        """GET, again and again while the service is coming back."""
        deadline = time.monotonic() + PATIENCE
        while True:
            with suppress(httpx2.TransportError):
                answer = self.client.get(path)
                if answer.status_code < 500:
                    return answer
            assert time.monotonic() < deadline, f"GET {path} is not answered"
            time.sleep(0.3)

    def query(self, question: str, **options: Any) -> httpx2.Response:
        return self.client.post("query", json={"query": question, **options})

    def status(self, document_id: str) -> str:
        answer = self.get(f"documents/{document_id}")
        return GONE if answer.status_code == 404 else str(answer.json()["status"])

    def look(self, entry: Entry) -> Seen:
        status = self.status(entry.document_id)
        if status == GONE:
            return Seen(GONE)
        original = self.get(f"documents/{entry.document_id}/original")
        if original.status_code != 200:
            return Seen(status)
        return Seen(status, hashlib.sha256(original.content).hexdigest())

    def wait_for(self, document_id: str, *, seconds: float = PATIENCE) -> str:
        """Wait until the document is ready, failed or gone; returns what it is by then."""
        deadline = time.monotonic() + seconds
        while (status := self.status(document_id)) not in (*FINAL, GONE):
            if time.monotonic() > deadline:
                break
            time.sleep(0.2)
        return status

    def wait(self, *, seconds: float = PATIENCE) -> None:
        """Wait until nothing of the ledger is still worked on, at most so long."""
        deadline = time.monotonic() + seconds
        for entry in self.stage.ledger.entries(self.slug):
            self.wait_for(entry.document_id, seconds=max(0.0, deadline - time.monotonic()))

    def fingerprint(self, document_id: str) -> tuple[int, str]:
        """The number of passages, and the hash of their texts and vectors in order."""
        rows = self.stage.sql(
            "SELECT ordinal, content, embedding::text FROM documents_chunk "
            "WHERE document_id = %s ORDER BY ordinal",
            document_id,
        )
        return len(rows), hashlib.sha256(repr(rows).encode()).hexdigest()


@dataclass
class Theatre:
    """Gives the trials their stages: one that they share, or one with settings of its own."""

    folder: Path
    ledger: Ledger
    embedding_api: str
    trials: int = 0
    _shared: Stage | None = None

    @property
    def stage(self) -> Stage:
        if self._shared is None:
            self._shared = self.new_stage()
            self._shared.open()
        return self._shared

    @contextmanager
    def own_stage(
        self, prepare: Callable[[Path], None] = lambda home: None, **settings: Any
    ) -> Iterator[Stage]:
        """A stage for one trial; `prepare` gets its empty home, for mounts."""
        stage = self.new_stage(**settings)
        stage.home.mkdir(parents=True)
        prepare(stage.home)
        try:
            stage.open()
            yield stage
        finally:
            stage.close()

    def new_stage(self, **settings: Any) -> Stage:
        home = self.folder / f"home-{uuid.uuid4().hex[:6]}"
        return Stage(home, self.ledger, self.embedding_api, **settings)

    def drop_shared(self) -> None:
        """End the shared stage: what one fault has broken must not count for the next."""
        if self._shared is not None:
            self._shared.close()
            self._shared = None


def until(what: Callable[[], Any], *, seconds: float, every: float = 0.1) -> Any:
    deadline = time.monotonic() + seconds
    while not (value := what()):
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(every)
    return value


@contextmanager
def clients(*acts: Callable[[], None]) -> Iterator[list[BaseException]]:
    """Run each act again and again in a thread of its own; gives the exceptions that ended any."""
    stop = threading.Event()
    raised: list[BaseException] = []

    def repeat(act: Callable[[], None]) -> None:
        try:
            while not stop.is_set():
                act()
        except BaseException as error:  # the trial looks at it
            raised.append(error)

    threads = [threading.Thread(target=repeat, args=(act,), daemon=True) for act in acts]
    for thread in threads:
        thread.start()
    try:
        yield raised
    finally:
        stop.set()
        for thread in threads:
            thread.join(timeout=90)
