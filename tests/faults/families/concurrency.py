"""Many at once: the same bytes, new versions under queries, deletions in the middle of work."""

import json
import random
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import httpx2

from ..belongings import furnish
from ..ledger import GONE
from ..outcomes import Outcome, fault, p95
from ..provider import Hold, StageHandler, paced, scripted
from ..stage import Stage, Tenant, Theatre, clients, text_of, until

SAME_TIME = 32


def _at_once(acts: Sequence[Callable[[], Any]]) -> list[Any]:
    """Run all acts at the same moment, each in a thread."""
    barrier = threading.Barrier(len(acts))

    def start(act: Callable[[], Any]) -> Any:
        barrier.wait()
        return act()

    with ThreadPoolExecutor(len(acts)) as pool:
        return list(pool.map(start, acts))


def _post(tenant: Tenant, name: str, content: bytes) -> httpx2.Response:
    with tenant.stage.client(tenant.key) as client:
        return client.post("ingest", files={"file": (f"{name}.md", content)})


@fault("F12", "32 uploads of the same bytes at the same moment", trials=3)
def same_bytes(theatre: Theatre, outcome: Outcome) -> None:
    stage = theatre.stage
    tenant = stage.tenant()
    codes: Counter[int] = Counter()
    again = 0
    for trial in range(outcome.trials):
        content = text_of(f"log-{trial}")
        embedded = StageHandler.embedded
        answers = _at_once([lambda: _post(tenant, f"log-{trial}", content)] * SAME_TIME)  # noqa: B023
        codes.update(answer.status_code for answer in answers)
        ids = {
            answer.json()["results"][0]["document_id"] for answer in answers if answer.is_success
        }
        outcome.require(len(ids) == 1, f"{len(ids)} documents from the same bytes")
        for document_id in ids:
            stage.ledger.note(tenant.slug, document_id, content)
            tenant.wait_for(document_id)
            passages = tenant.fingerprint(document_id)[0]
            again += StageHandler.embedded - embedded - passages
    outcome.require(set(codes) <= {200, 202}, f"responses {dict(codes)}")
    outcome.require(not again, f"{again} texts were embedded more than once")
    versions = stage.sql(
        "SELECT count(*), count(DISTINCT document_id) FROM documents_documentversion "
        "WHERE namespace_id = %s",
        tenant.id,
    )[0]
    outcome.require(versions == (outcome.trials,) * 2, f"versions and documents {versions}")
    outcome.figures |= {"responses": dict(codes), "embedded twice": again}
    stage.judge(outcome, tenant)


@fault("F12b", "the same bytes in eight namespaces", trials=2)
def same_bytes_elsewhere(theatre: Theatre, outcome: Outcome) -> None:
    stage = theatre.stage
    tenants = [stage.tenant(profile="steady") for _ in range(8)]
    first, later = [], []
    for trial in range(outcome.trials):
        content = text_of(f"secret-{trial}")
        shapes = set()
        for n, tenant in enumerate(tenants):
            began = time.monotonic()
            answer = tenant.send(f"secret-{trial}", content)
            (later if n else first).append((time.monotonic() - began) * 1000)
            result = answer.json()["results"][0]
            shapes.add((answer.status_code, tuple(sorted(result)), str(result.get("duplicate"))))
        outcome.require(len(shapes) == 1, f"responses tell namespaces apart: {shapes}")
    outcome.figures["ms first/later"] = f"{p95(first):.0f}/{p95(later):.0f}"
    stage.judge(outcome, *tenants)


@fault("F12c", "an Idempotency-Key 16 times at once, then with another body", trials=5)
def keys_again(theatre: Theatre, outcome: Outcome) -> None:
    stage = theatre.stage
    tenant = stage.tenant(profile="steady")
    codes: Counter[int] = Counter()
    for trial in range(outcome.trials):
        key, content = f"order-{trial}", text_of(f"order-{trial}")
        answers = _at_once([lambda: _post_with_key(tenant, key, content)] * 16)  # noqa: B023
        codes.update(answer.status_code for answer in answers)
        bodies = {json.dumps(a.json(), sort_keys=True) for a in answers if a.is_success}
        outcome.require(len(bodies) == 1, f"different answers to one request: {sorted(bodies)[:2]}")
        result = _post_with_key(tenant, key, content).json()["results"][0]
        stage.ledger.note(tenant.slug, result["document_id"], content)
        other = _post_with_key(tenant, key, text_of(f"another-{trial}"))
        mismatch = (other.status_code, other.json().get("error", {}).get("code"))
        outcome.require(mismatch == (422, "idempotency_mismatch"), f"another body: {mismatch}")
    outcome.require(set(codes) <= {202, 409}, f"responses {dict(codes)}")
    tenant.wait()
    documents = "SELECT count(*) FROM documents_document WHERE namespace_id = %s"
    extra = stage.sql(documents, tenant.id)[0][0] - outcome.trials
    outcome.leak(extra, "documents of requests that were refused or repeated")
    outcome.figures["responses"] = dict(codes)
    stage.judge(outcome, tenant)


def _post_with_key(tenant: Tenant, key: str, content: bytes) -> httpx2.Response:
    with tenant.stage.client(tenant.key) as client:
        headers = {"Idempotency-Key": key}
        return client.post("ingest", files={"file": (f"{key}.md", content)}, headers=headers)


@fault("F13", "new versions of a document while four clients ask", trials=500)
def new_versions(theatre: Theatre, outcome: Outcome) -> None:
    stage = theatre.stage
    tenant = stage.tenant(profile="steady")
    document_id = tenant.upload("log", _revision(0))
    tenant.wait_for(document_id)
    texts: dict[int, str] = {}  # by version
    seen: Counter[str] = Counter()
    times: list[float] = []
    wrong: list[str] = []
    cited: set[tuple[int, int, int, str]] = set()

    def ask() -> None:
        began = time.monotonic()
        answer = _client_of(tenant).post(
            "query",
            json={"query": f"What did the keeper note, {random.random()}?", "k": 8},
        )
        times.append((time.monotonic() - began) * 1000)
        if answer.status_code != 200:
            wrong.append(f"{answer.status_code} {answer.text[:200]}")
            return
        hits = answer.json()["results"]
        revisions = {r for hit in hits for r in re.findall(r"revision(\d+)x", hit["content"])}
        versions = {hit["document_version"] for hit in hits}
        seen["empty"] += not hits
        if not hits:
            wrong.append(f"empty: {answer.json()['diagnostics']}")
        seen["mixed"] += len(revisions) > 1 or len(versions) > 1
        seen["answers"] += 1
        for hit in hits:
            span = hit["span"]
            cited.add((hit["document_version"], span["start"], span["end"], hit["content"]))

    with clients(*[ask] * 4) as raised:
        time.sleep(3)
        steady = list(times)
        for number in range(1, outcome.trials + 1):
            tenant.upload("log", _revision(number))
            tenant.wait_for(document_id)
            text = tenant.get(f"documents/{document_id}/text").json()
            texts[text["version"]] = text["text"]
        during = times[len(steady) :]
    inexact = [c for c in cited if c[0] in texts and texts[c[0]][c[1] : c[2]] != c[3]]
    outcome.require(not inexact, f"{len(inexact)} passages are not the text at their span")
    outcome.figures["spans compared"] = sum(version in texts for version, *_ in cited)
    outcome.require(not raised and not wrong, f"{raised[:2]} {wrong[:2]}")
    outcome.wrong += seen["empty"] + seen["mixed"]
    outcome.figures |= {kind: seen[kind] for kind in ("answers", "empty", "mixed")}
    outcome.figures["p95 ms steady/during"] = f"{p95(steady):.0f}/{p95(during):.0f}"
    stage.judge(outcome, tenant)


def _revision(number: int) -> bytes:
    return text_of(f"log of revision{number}x", word=f"revision{number}x", sections=3)


_local = threading.local()


def _client_of(tenant: Tenant) -> httpx2.Client:
    """A client for each thread, which keeps its connection."""
    if getattr(_local, "key", "") != tenant.key:
        _local.key, _local.client = tenant.key, tenant.stage.client(tenant.key)
    return _local.client


@fault("F14", "a document deleted while it is indexed, at each stage", trials=200)
def deleted_midway(theatre: Theatre, outcome: Outcome) -> None:
    stage = theatre.stage
    tenant = stage.tenant()
    chance = random.Random(14)
    zombies = 0
    stages: Counter[str] = Counter()
    for trial in range(outcome.trials):
        hold = Hold(after=chance.randrange(4) if trial % 3 else 10**6)
        with scripted(hold if trial % 3 else paced(0.05)):
            document_id = tenant.upload(f"log-{trial}", text_of(f"log-{trial}", sections=3))
            if trial % 3:
                until(hold.reached.is_set, seconds=60)
            else:
                time.sleep(chance.uniform(0, 1.5))
            at = stage.sql(
                "SELECT stage FROM documents_ingestjob WHERE document_id = %s", document_id
            )
            stages[at[0][0] if at else "none"] += 1
            deleted = tenant.client.delete(f"documents/{document_id}")
            outcome.require(deleted.status_code in (200, 204), f"{deleted.status_code}")
            stage.ledger.expect(document_id, GONE)
            hold.released.set()
    follow_up = tenant.upload("a good one")
    outcome.require(tenant.wait_for(follow_up) == "ready", "no job runs after the deletions")
    left = "SELECT count(*) FROM documents_chunk WHERE namespace_id = %s AND document_id <> %s"
    zombies = stage.sql(left, tenant.id, follow_up)[0][0]
    outcome.leak(zombies, "passages of deleted documents")
    jobs = (
        "SELECT count(*) FROM documents_ingestjob "
        "WHERE namespace_id = %s AND state IN ('queued', 'running')"
    )
    outcome.stuck += stage.sql(jobs, tenant.id)[0][0]
    outcome.figures |= {"at": dict(stages), "zombies": zombies}
    stage.judge(outcome, tenant)


# What may outlive a namespace: who did what, and the receipt.
KEPT = {"documents_auditevent", "documents_namespaceremoval"}


@fault("F15", "a namespace deleted while clients ask and upload", trials=3)
def namespace_deleted(theatre: Theatre, outcome: Outcome) -> None:
    stage = theatre.stage
    bystander = stage.tenant(profile="steady")
    bystander.wait_for(bystander.upload("base"))
    codes: Counter[int] = Counter()
    for _ in range(outcome.trials):
        tenant = stage.tenant()
        furnish(tenant)
        owned = len(_rows_of(stage, tenant))
        with scripted(paced(0.05)), clients(*_busy(tenant, codes)) as raised:
            time.sleep(3)
            with stage.client(stage.operator_key) as client:
                removed = client.delete(f"namespaces/{tenant.slug}")
            outcome.require(removed.status_code in (200, 202), removed.text[:300])
            began = time.monotonic()
            with suppress(AssertionError):
                until(lambda: not _rows_of(stage, tenant), seconds=60, every=1)  # noqa: B023
            outcome.recovery.append(time.monotonic() - began)
            time.sleep(2)
        outcome.require(not raised, f"a client broke off: {raised[:2]}")
        rows = _rows_of(stage, tenant)
        outcome.leak(sum(rows.values()), f"rows of a deleted namespace: {rows}")
        files = [p for p in (stage.home / "storage").rglob("*") if p.is_file()]
        outcome.leak(sum(tenant.id in str(p) for p in files), "files of a deleted namespace")
    # Its keys are wrong from then on, and too many requests with a wrong key are limited.
    expected = (200, 202, 401, 404, 429, 503)
    wrong = {code: n for code, n in codes.items() if code not in expected}
    outcome.require(not wrong, f"responses {wrong}")
    outcome.figures |= {"tables it had rows in": owned, "responses": dict(codes)}
    stage.judge(outcome, bystander)


def _busy(tenant: Tenant, codes: Counter[int]) -> list[Callable[[], None]]:
    def ask() -> None:
        body = {"query": f"Who noted line {random.random()}?"}
        codes[_client_of(tenant).post("query", json=body).status_code] += 1
        time.sleep(0.05)

    def send() -> None:
        name = f"log-{time.monotonic_ns()}"
        files = {"file": (f"{name}.md", text_of(name, sections=2))}
        codes[_client_of(tenant).post("ingest", files=files).status_code] += 1
        time.sleep(0.1)

    return [ask, ask, send, send]


def _rows_of(stage: Stage, tenant: Tenant) -> dict[str, int]:
    """Rows of this namespace in any table that has such a column."""
    tables = stage.sql(
        "SELECT table_name FROM information_schema.columns c JOIN information_schema.tables t "
        "USING (table_schema, table_name) WHERE column_name = 'namespace_id' "
        "AND table_schema = 'public' AND table_type = 'BASE TABLE'"
    )
    counts = {}
    for (table,) in tables:
        if table not in KEPT:
            (count,) = stage.sql(
                f"SELECT count(*) FROM {table} WHERE namespace_id::text = %s", tenant.id
            )[0]
            if count:
                counts[table] = count
    return counts
