"""Another profile, with other dimensions, is built under load, switched to, and builders die."""

import hashlib
import json
import random
import time
from collections import Counter

import httpx2

from ..outcomes import Outcome, fault, p95
from ..stage import Stage, Tenant, Theatre, clients, until
from .database import Onlooker

DOCUMENTS = 20
MODELS = """
    SELECT chunk.id::text, profile.name FROM documents_chunk chunk
    JOIN documents_indexprofile profile ON profile.id = chunk.profile_id
    WHERE chunk.namespace_id = %s
"""


class Asker(Onlooker):
    """Keeps which profile each response names, and the passages it shows."""

    def __init__(self, stage: Stage, tenant: Tenant) -> None:
        super().__init__(stage, tenant)
        self.seen: list[tuple[str, list[str]]] = []

    def judge(self, answer: httpx2.Response, kind: str) -> None:
        super().judge(answer, kind)
        if kind == "query" and answer.status_code == 200:
            body = answer.json()
            chunks = [hit["chunk_id"] for hit in body["results"]]
            self.seen.append((body["diagnostics"]["profile"], chunks))


def _filled(stage: Stage, count: int = DOCUMENTS) -> Tenant:
    tenant = stage.tenant(profile="steady")
    for n in range(count):
        tenant.upload(f"log-{n}")
    tenant.wait()
    return tenant


def _found(tenant: Tenant, count: int = DOCUMENTS) -> int:
    """How many of the questions that one document answers find it among ten passages."""
    found = 0
    for n in range(count):
        hits = tenant.query(f"What did keeper log-{n} note in line 3?", k=10).json()["results"]
        found += any(hit["source_uri"] == f"upload:log-{n}.md" for hit in hits)
    return found


def _do(tenant: Tenant, action: str, **more: str) -> httpx2.Response:
    return tenant.client.post("reindex", json={"action": action, **more})


def _is_ready(tenant: Tenant) -> bool:
    reindex = tenant.get("reindex").json()["reindex"]
    return reindex is not None and reindex["state"] in ("built", "switched")


def _build(tenant: Tenant) -> None:
    started = tenant.client.post("reindex", json={"profile": "small"})
    assert started.status_code in (200, 202), started.text
    until(lambda: _is_ready(tenant), seconds=300, every=0.5)


def _switch(tenant: Tenant, outcome: Outcome, action: str) -> None:
    """Do it as soon as nothing is missing: uploads go on."""
    deadline = time.monotonic() + 60
    while (answer := _do(tenant, action)).status_code == 409 and time.monotonic() < deadline:
        time.sleep(0.5)
    outcome.require(answer.is_success, f"{action}: {answer.status_code} {answer.text[:200]}")


@fault("F16", "another model of other dimensions: built, switched to and back, under four clients")
def under_load(theatre: Theatre, outcome: Outcome) -> None:
    stage = theatre.stage
    for _ in range(outcome.trials):
        tenant = _filled(stage)
        golden = _found(tenant)
        asker = Asker(stage, tenant)
        with clients(*[asker.ask] * 4, asker.send) as raised:
            time.sleep(3)
            steady = len(asker.milliseconds)
            began = time.monotonic()
            _build(tenant)
            outcome.recovery.append(time.monotonic() - began)
            during = len(asker.milliseconds)
            profiles = dict(stage.sql(MODELS, tenant.id))
            for action in ("switch", "rollback", "switch"):
                _switch(tenant, outcome, action)
                time.sleep(2)
        profiles |= dict(stage.sql(MODELS, tenant.id))
        outcome.require(not raised, f"a client broke off: {raised[:2]}")
        mixed = sum(len({profiles.get(c) for c in chunks} - {None}) > 1 for _, chunks in asker.seen)
        outcome.require(not mixed and not asker.empty, f"{mixed} mixed, {asker.empty} empty")
        before, meanwhile = asker.milliseconds[:steady], asker.milliseconds[steady:during]
        outcome.figures |= {"empty": asker.empty, "mixed": mixed}
        outcome.figures["by profile"] = dict(Counter(profile for profile, _ in asker.seen))
        outcome.figures["p95 ms before/during"] = f"{p95(before):.0f}/{p95(meanwhile):.0f}"
        after = _found(tenant)
        outcome.figures["golden questions found before/after"] = f"{golden}/{after}"
        outcome.require(after >= 0.9 * golden, f"{after} questions find it, before {golden}")
        asker.report(outcome)
        tenant.wait()
        until(lambda: _is_complete(stage, tenant), seconds=120, every=1)  # noqa: B023
        stage.judge(outcome, tenant)


def _is_complete(stage: Stage, tenant: Tenant) -> bool:
    """What was uploaded meanwhile is in both profiles."""
    counts = stage.sql(
        "SELECT profile_id, count(DISTINCT document_id) FROM documents_chunk "
        "WHERE namespace_id = %s GROUP BY profile_id",
        tenant.id,
    )
    documents = len(stage.ledger.entries(tenant.slug))
    return len(counts) == 2 and all(count == documents for _, count in counts)


def _fingerprint(stage: Stage, tenant: Tenant) -> str:
    rows = stage.sql(
        "SELECT source_uri, ordinal, content, embedding::text FROM documents_chunk chunk "
        "JOIN documents_document document ON document.id = chunk.document_id "
        "JOIN documents_indexprofile profile ON profile.id = chunk.profile_id "
        "WHERE chunk.namespace_id = %s AND profile.name = 'small' ORDER BY source_uri, ordinal",
        tenant.id,
    )
    return hashlib.sha256(json.dumps(rows, default=str).encode()).hexdigest()


@fault("F16b", "kill -9 of the builder at random moments", trials=4)
def builder_killed(theatre: Theatre, outcome: Outcome) -> None:
    stage = theatre.stage
    calm, tenant = _filled(stage), _filled(stage)
    _build(calm)
    chance = random.Random(16)
    asker = Asker(stage, tenant)
    with clients(asker.ask) as raised:
        started = tenant.client.post("reindex", json={"profile": "small"})
        assert started.status_code in (200, 202), started.text
        kills = 0
        for _ in range(outcome.trials):
            time.sleep(chance.uniform(0.2, 2.5))
            if _is_ready(tenant):
                break
            for process in stage.service.workers():
                if process.ppid() != stage.service.process.pid:
                    process.kill()
            kills += 1
            until(lambda: stage.service.workers(), seconds=60)
        killed_at = time.monotonic()
        until(lambda: _is_ready(tenant), seconds=300, every=0.5)
        outcome.recovery.append(time.monotonic() - killed_at)
    outcome.require(not raised and not asker.empty, f"{asker.empty} empty, {raised[:2]}")
    same = _fingerprint(stage, calm) == _fingerprint(stage, tenant)
    outcome.require(same, "passages or vectors differ from an undisturbed build")
    outcome.figures["kills"] = kills
    asker.report(outcome)
    stage.judge(outcome, calm, tenant)
