"""A database that dies, that cuts its connections, and whose index is rebuilt under load."""

import fcntl
import os
import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

import httpx2

from ragsite.postgres.embedded import open_lock

from ..outcomes import Outcome, fault, p95
from ..provider import paced, scripted
from ..stage import Stage, Tenant, Theatre, clients, text_of

IN_FLIGHT = 20  # documents
DOWN_SECONDS = 10
ALLOWED = (200, 202, 503)
VICTIMS = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() ORDER BY random() LIMIT 1
"""
LARGE, SECTIONS = 12, 200  # documents of an index that takes a while to build, and their length
SECOND_WORDS = ("heron", "walrus")  # each in every passage of one tenant, and in no other's


@dataclass
class Onlooker:
    """Clients that ask and upload throughout, and judge each response."""

    stage: Stage
    tenant: Tenant
    word: str = ""
    foreign: str = ""
    counts: dict[str, int] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    leaks: list[str] = field(default_factory=list)
    milliseconds: list[float] = field(default_factory=list)
    empty: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def ask(self) -> None:
        began = time.monotonic()
        question = f"Who noted line {random.randrange(10**6)}?"
        with suppress(httpx2.ConnectError), self.stage.client(self.tenant.key) as client:
            try:
                self.judge(client.post("query", json={"query": question, "k": 5}), "query")
                self.milliseconds.append((time.monotonic() - began) * 1000)
            except httpx2.TransportError as error:
                self.wrong.append(repr(error))
        time.sleep(0.05)

    def read(self) -> None:
        with suppress(httpx2.ConnectError), self.stage.client(self.tenant.key) as client:
            self.judge(client.get("documents"), "read")
        time.sleep(0.1)

    def send(self) -> None:
        name = f"{self.tenant.slug}-{time.monotonic_ns()}"
        with suppress(httpx2.ConnectError), self.stage.client(self.tenant.key) as client:
            sender = Tenant(self.stage, self.tenant.slug, self.tenant.id, self.tenant.key)
            sender.client = client
            self.judge(sender.send(name, text_of(name, word=self.word, sections=2)), "upload")
        time.sleep(0.3)

    def judge(self, answer: httpx2.Response, kind: str) -> None:
        with self._lock:
            self.counts[kind] = self.counts.get(kind, 0) + 1
            if answer.status_code == 503:
                self.counts["503"] = self.counts.get("503", 0) + 1
        if answer.status_code not in ALLOWED:
            self.wrong.append(f"{kind}: {answer.status_code} {answer.text[:300]}")
        elif answer.status_code == 503 and not answer.headers.get("Retry-After"):
            self.wrong.append(f"{kind}: 503 without Retry-After")
        elif "json" not in answer.headers["Content-Type"]:
            self.wrong.append(f"{kind}: {answer.headers['Content-Type']}")
        elif self.foreign and self.foreign in answer.text:
            self.leaks.append(f"{kind}: {self.foreign} in the response")
        if kind == "query" and answer.status_code == 200 and not answer.json()["results"]:
            self.empty += 1

    def report(self, outcome: Outcome) -> None:
        outcome.require(not self.wrong, f"{len(self.wrong)} responses, such as {self.wrong[:3]}")
        outcome.wrong += max(0, len(self.wrong) - 1)
        outcome.leak(len(self.leaks), f"responses with another tenant's text: {self.leaks[:1]}")
        for kind, count in self.counts.items():
            outcome.figures[kind] = int(outcome.figures.get(kind, 0)) + count


@contextmanager
def _kept_from_starting(stage: Stage) -> Iterator[None]:
    """Nothing can start the database meanwhile."""
    lock = open_lock(stage.home / "run" / "start.lock")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


@fault("F2", "kill -9 of the postmaster, 20 documents in flight, back after 10 s", trials=5)
def postmaster_killed(theatre: Theatre, outcome: Outcome) -> None:
    stage = theatre.stage
    tenant = stage.tenant()
    onlooker = Onlooker(stage, tenant)
    chance = random.Random(2)
    for trial in range(outcome.trials):
        with clients(onlooker.ask, onlooker.read, onlooker.send) as raised, scripted(paced(0.1)):
            sent = [tenant.upload(f"log-{trial}-{n}") for n in range(IN_FLIGHT)]
            time.sleep(chance.uniform(0, 5))
            with _kept_from_starting(stage):
                stage.postmaster().kill()
                time.sleep(DOWN_SECONDS)
            began = time.monotonic()
            tenant.get("documents")
            outcome.recovery.append(time.monotonic() - began)
            for document_id in sent:
                tenant.wait_for(document_id)
        outcome.require(not raised, f"a client broke off: {raised[:2]}")
    onlooker.report(outcome)
    stage.judge(outcome, tenant)


@fault("F3", "pg_terminate_backend on a random connection every 200 ms", trials=600)
def connections_cut(theatre: Theatre, outcome: Outcome) -> None:
    stage = theatre.stage
    one, other = (stage.tenant(profile="steady") for _ in range(2))
    mine, theirs = SECOND_WORDS
    onlookers = [Onlooker(stage, one, mine, theirs), Onlooker(stage, other, theirs, mine)]
    for onlooker in onlookers:
        name = f"base-{onlooker.word}"
        onlooker.tenant.wait_for(onlooker.tenant.upload(name, text_of(name, word=onlooker.word)))
    acts = [act for looker in onlookers for act in (looker.ask, looker.read, looker.send)]
    with clients(*acts) as raised:
        for _ in range(outcome.trials):
            stage.sql(VICTIMS)
            time.sleep(0.2)
        ended_at = time.monotonic()
    outcome.require(not raised, f"a client broke off: {raised[:2]}")
    for onlooker in onlookers:
        onlooker.tenant.wait()
        onlooker.report(outcome)
    outcome.recovery.append(time.monotonic() - ended_at)
    stage.judge(outcome, one, other)


@fault("F17", "REINDEX CONCURRENTLY of a vector index under four clients", trials=3)
def index_rebuilt(theatre: Theatre, outcome: Outcome) -> None:
    stage = theatre.stage
    tenant = stage.tenant(profile="steady")
    for n in range(LARGE):
        tenant.upload(f"log-{n}", text_of(f"log-{n}", sections=SECTIONS))
    tenant.wait(seconds=400)
    passages = "SELECT count(*) FROM documents_chunk WHERE namespace_id = %s"
    outcome.figures["passages"] = stage.sql(passages, tenant.id)[0][0]
    onlooker = Onlooker(stage, tenant)
    names = stage.sql(
        "SELECT indexrelid::regclass::text FROM pg_index "
        "WHERE indexrelid::regclass::text LIKE 'chunk_vectors_%'"
    )
    with clients(*[onlooker.ask] * 4) as raised:
        time.sleep(2)
        steady = len(onlooker.milliseconds)
        began = time.monotonic()
        for _ in range(outcome.trials):
            for (name,) in names:
                stage.sql(f"REINDEX INDEX CONCURRENTLY {name}")
        outcome.figures["seconds"] = f"{time.monotonic() - began:.1f}"
    outcome.require(not raised and not onlooker.empty, f"{onlooker.empty} empty, {raised[:2]}")
    before, during = onlooker.milliseconds[:steady], onlooker.milliseconds[steady:]
    outcome.figures["p95 ms before/during"] = f"{p95(before):.0f}/{p95(during):.0f}"
    invalid = stage.sql("SELECT count(*) FROM pg_index WHERE NOT indisvalid")[0][0]
    outcome.leak(invalid, "invalid indexes")
    onlooker.report(outcome)
    stage.judge(outcome, tenant)
