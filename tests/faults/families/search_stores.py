"""A search store outside of the database: a live namespace moves there and back, and the store
dies, hangs, and comes back with an older disk or with none."""

import random
import shutil
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests import store_servers
from tests.store_servers import Door, QdrantNode

from ..outcomes import NotPossibleHere, Outcome, fault, p95
from ..provider import StageHandler
from ..stage import Stage, Tenant, Theatre, clients, text_of, until

DOCUMENTS = 30
CALM_SECONDS = 6.0
SEARCH_SECONDS = 1.0  # that a search waits for the store
NODES = 3
WAITING = "SELECT count(*) FROM documents_storechange"


@dataclass
class Seeker:
    """Asks for documents that are there, and for what it has just uploaded: each must be found."""

    stage: Stage
    tenant: Tenant
    names: list[str]
    wrong: list[str] = field(default_factory=list)
    plans: Counter[str] = field(default_factory=Counter)
    milliseconds: list[float] = field(default_factory=list)
    uploads: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def ask(self) -> None:
        self._find(random.choice(self.names))
        time.sleep(0.02)

    def send_and_ask(self) -> None:
        name = f"beacon{time.monotonic_ns()}"
        with self.stage.client(self.tenant.key) as client:
            sender = Tenant(self.stage, self.tenant.slug, self.tenant.id, self.tenant.key)
            sender.client = client
            answer = sender.send(name, text_of(name, word=name, sections=1), wait="30")
        if answer.status_code == 200 and answer.json()["results"][0]["status"] == "ready":
            self.uploads += 1
            self._find(name)
        elif answer.status_code not in (200, 202):
            self.wrong.append(f"upload: {answer.status_code} {answer.text[:200]}")

    def _find(self, name: str) -> None:
        mode = random.choice(("hybrid", "semantic", "lexical"))
        began = time.monotonic()
        with self.stage.client(self.tenant.key) as client:
            answer = client.post("query", json={"query": name, "k": 10, "mode": mode})
        if answer.status_code != 200:
            self.wrong.append(f"query: {answer.status_code} {answer.text[:200]}")
            return
        body: dict[str, Any] = answer.json()
        fallbacks = body["diagnostics"]["fallbacks"]
        with self._lock:
            self.milliseconds.append((time.monotonic() - began) * 1000)
            plan = body["diagnostics"].get("dense_plan", "")
            self.plans[next(iter(fallbacks), plan if mode != "lexical" else "")] += 1
        if not any(name in hit["source_uri"] for hit in body["results"]):
            found = len(body["results"])
            self.wrong.append(f"{mode}: {name} is not among {found}, {fallbacks} {plan}")

    def report(self, outcome: Outcome) -> None:
        outcome.require(not self.wrong, f"{len(self.wrong)}, such as {self.wrong[:3]}")
        outcome.wrong += max(0, len(self.wrong) - 1)
        outcome.figures |= {"questions": len(self.milliseconds), "uploads": self.uploads}
        outcome.figures["slowest ms"] = round(max(self.milliseconds, default=0.0))
        plans = {plan: count for plan, count in sorted(self.plans.items()) if plan}
        outcome.figures["answered by"] = plans


@contextmanager
def _stage(theatre: Theatre, *nodes: QdrantNode) -> Iterator[tuple[Stage, Door]]:
    door = Door(*[node.address for node in nodes])
    settings = {
        "QDRANT_URL": door.address,
        "STORE_SEARCH_SECONDS": str(SEARCH_SECONDS),
        "STORE_WRITE_SECONDS": "5",
        "CACHE_RESULTS_SECONDS": "0",
    }
    try:
        with theatre.own_stage(**settings) as stage:
            yield stage, door
    finally:
        door.close()


@contextmanager
def _qdrant(theatre: Theatre, name: str, count: int = 1) -> Iterator[list[QdrantNode]]:
    if store_servers.missing_qdrant_binary():
        raise NotPossibleHere(store_servers.missing_qdrant_binary())
    nodes: list[QdrantNode] = []
    try:
        for n in range(count):
            first = nodes[0] if nodes else None
            folder = theatre.folder / name / str(n)
            nodes.append(QdrantNode(folder, in_cluster=count > 1, first=first))
            nodes[-1].start()
        yield nodes
    finally:
        for node in nodes:
            node.kill()


def _filled(stage: Stage, profile: str = "steady") -> Tenant:
    tenant = stage.tenant(profile=profile)
    for n in range(DOCUMENTS):
        tenant.upload(f"log{n}", text_of(f"log{n}", word=f"log{n}", sections=2))
    tenant.wait()
    return tenant


def _in_store(stage: Stage, *options: str) -> None:
    stage.command("profile", "create", "away", "--like", "steady", "--store", "qdrant", *options)


def _settle(stage: Stage, seconds: float = 120) -> None:
    until(lambda: stage.sql(WAITING)[0][0] == 0, seconds=seconds, every=0.2)


def _move(tenant: Tenant, profile: str) -> None:
    started = tenant.client.post("reindex", json={"profile": profile})
    assert started.status_code in (200, 202), started.text
    until(lambda: tenant.get("reindex").json()["reindex"]["state"] == "built", seconds=180)
    for action in ("switch", "rollback", "switch", "reclaim"):
        deadline = time.monotonic() + 60
        while True:
            done = tenant.client.post("reindex", json={"action": action})
            if done.is_success or time.monotonic() > deadline:
                break
            time.sleep(0.5)
        assert done.is_success, f"{action}: {done.status_code} {done.text[:300]}"
        time.sleep(2)


@fault("F30", "a live namespace moves to Qdrant and back, under six clients", own_stage=True)
def moved(theatre: Theatre, outcome: Outcome) -> None:
    with _qdrant(theatre, "moved") as nodes, _stage(theatre, *nodes) as (stage, _):
        _in_store(stage)
        tenant = _filled(stage)
        asked = len(StageHandler.seen)
        seeker = Seeker(stage, tenant, [f"log{n}" for n in range(DOCUMENTS)])
        with clients(*[seeker.ask] * 4, *[seeker.send_and_ask] * 2) as raised:
            time.sleep(2)
            for profile in ("away", "steady"):
                began = time.monotonic()
                _move(tenant, profile)
                outcome.recovery.append(time.monotonic() - began)
        outcome.require(not raised, f"a client broke off: {raised[:2]}")
        seeker.report(outcome)
        tenant.wait()
        _settle(stage)
        texts = [text for body in StageHandler.seen[asked:] for text in body.get("input", ())]
        again = sum("keeper log" in text for text in texts)  # passages that were there before
        outcome.require(bool(texts) and not again, f"{again} passages were embedded again")
        stage.judge(outcome, tenant)


@fault("F30b", "Qdrant is killed, hangs and comes back, under six clients", trials=2,
       own_stage=True)  # fmt: skip
def killed(theatre: Theatre, outcome: Outcome) -> None:
    with _qdrant(theatre, "killed") as nodes, _stage(theatre, *nodes) as (stage, _):
        (node,) = nodes
        _in_store(stage)
        tenant = _filled(stage, "away")
        _settle(stage)
        seeker = Seeker(stage, tenant, [f"log{n}" for n in range(DOCUMENTS)])
        slow: list[float] = []
        with clients(*[seeker.ask] * 4, *[seeker.send_and_ask] * 2) as raised:
            for _ in range(outcome.trials):
                time.sleep(CALM_SECONDS)
                before = len(seeker.milliseconds)
                node.kill()
                time.sleep(CALM_SECONDS)
                node.start()
                time.sleep(CALM_SECONDS)
                node.send(signal.SIGSTOP)
                time.sleep(CALM_SECONDS)
                node.send(signal.SIGCONT)
                slow += seeker.milliseconds[before:]
            ended = time.monotonic()
        _settle(stage, 400)
        outcome.recovery.append(time.monotonic() - ended)
        outcome.require(not raised, f"a client broke off: {raised[:2]}")
        seeker.report(outcome)
        outcome.figures["p95 ms in trouble"] = round(p95(slow))
        stage.judge(outcome, tenant)


@fault("F30c", "Qdrant comes back with yesterday's disk, then with an empty one", own_stage=True)
def disk_lost(theatre: Theatre, outcome: Outcome) -> None:
    with _qdrant(theatre, "disks") as nodes, _stage(theatre, *nodes) as (stage, _):
        (node,) = nodes
        _in_store(stage)
        tenant = _filled(stage, "away")
        _settle(stage)
        names = [f"log{n}" for n in range(DOCUMENTS)]
        node.kill()
        copies: list[Path | None] = [node.copy_disk(theatre.folder / "yesterday"), None]
        node.start()
        seeker = Seeker(stage, tenant, names)
        with clients(*[seeker.ask] * 3, seeker.send_and_ask) as raised:
            for copy in copies:
                until(lambda: seeker.plans["qdrant"] > 20, seconds=120)
                time.sleep(CALM_SECONDS)
                node.kill()
                node.replace_disk(copy)
                node.start()
                began = time.monotonic()
                seeker.plans["qdrant"] = 0
                until(lambda: seeker.plans["qdrant"] > 20, seconds=180)
                outcome.recovery.append(time.monotonic() - began)
        outcome.require(not raised, f"a client broke off: {raised[:2]}")
        seeker.report(outcome)
        _settle(stage)
        stage.judge(outcome, tenant)
        shutil.rmtree(theatre.folder / "yesterday", ignore_errors=True)


@fault("F31", "three nodes of Qdrant with two replicas, one killed while asked and written to",
       trials=2, own_stage=True)  # fmt: skip
def node_killed(theatre: Theatre, outcome: Outcome) -> None:
    with _qdrant(theatre, "nodes", NODES) as nodes, _stage(theatre, *nodes) as (stage, _):
        _in_store(stage, "--shards", "3", "--replicas", "2")
        tenant = _filled(stage, "away")
        _settle(stage)
        seeker = Seeker(stage, tenant, [f"log{n}" for n in range(DOCUMENTS)])
        with clients(*[seeker.ask] * 4, *[seeker.send_and_ask] * 2) as raised:
            for trial in range(outcome.trials):
                time.sleep(CALM_SECONDS)
                victim = nodes[-1 - trial % (NODES - 1)]
                victim.kill()
                time.sleep(2 * CALM_SECONDS)
                victim.start()
                time.sleep(CALM_SECONDS)
            ended = time.monotonic()
        _settle(stage, 400)
        outcome.recovery.append(time.monotonic() - ended)
        outcome.require(not raised, f"a client broke off: {raised[:2]}")
        seeker.report(outcome)
        stage.judge(outcome, tenant)
