"""The influence of one tenant's load on another: questions at a rate limit, and a thousand
uploads."""

import json
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from evaluation.benchmarks.load.clients import Client
from evaluation.benchmarks.load.tenants import Tenant
from evaluation.benchmarks.service.asking import middle
from evaluation.benchmarks.service.client import say

NOISY_CLIENTS = 8
LIMIT = 60  # questions per minute that the noisy tenant's key allows
AFTER_REFUSAL = 0.1  # seconds until a refused client asks again
PAUSE = 0.1  # seconds between questions of the observed tenant
BATCH = 100  # documents of an upload
PATIENCE = 600  # seconds for an upload
POLL = 0.2


def noise(url: str, tenants: Sequence[Tenant], *, windows: int, seconds: float) -> float:
    """Return the factor on the p95 of a middle-sized tenant while the largest one asks as much as
    its key allows, and continues when it is refused. Intervals with and without it alternate."""
    loud, other = tenants[0], tenants[len(tenants) // 2]
    key = _limited_key(loud)
    _use_up(url, key, loud.questions)
    times: dict[bool, list[float]] = {False: [], True: []}
    answered = refused = 0
    for window in range(windows):
        is_noisy = bool(window % 2)
        over = threading.Event()
        with ThreadPoolExecutor(NOISY_CLIENTS) as threads:
            hands = [
                threads.submit(_hammer, url, key, loud.questions, over)
                for _ in range(NOISY_CLIENTS if is_noisy else 0)
            ]
            times[is_noisy] += _ask_slowly(url, other, seconds)
            over.set()
            for statuses in (hand.result() for hand in hands):
                answered += statuses.count(200)
                refused += statuses.count(429)
    quiet, loudly = (middle(times[noisy], 95) for noisy in (False, True))
    say(f"\n### A noisy tenant, at the limit of its key: {LIMIT} questions a minute\n")
    say(f"the noisy tenant: {answered} answers, {refused} refused with 429")
    say(
        f"another tenant, p50 / p95 ms: {middle(times[False]):.1f} / {quiet:.1f} without it, "
        f"{middle(times[True]):.1f} / {loudly:.1f} with it; p95 × {loudly / quiet:.2f}"
    )
    return loudly / quiet


def _limited_key(tenant: Tenant) -> str:
    from documents.accounts import keys
    from ragsite.database.tenancy import operator

    with operator():
        _, key = keys.issue(tenant.bench.corpus.tenant, scopes=("read",), limits={"search": LIMIT})
        return key


def _use_up(url: str, key: str, questions: Sequence[str]) -> None:
    """Use up the limit, because a minute's questions may come at once; measured is what the limit
    admits from then on."""
    with ThreadPoolExecutor(NOISY_CLIENTS) as threads:
        over = threading.Event()
        hands = [
            threads.submit(_hammer, url, key, questions, over, until_refused=True)
            for _ in range(NOISY_CLIENTS)
        ]
        for hand in hands:
            hand.result()


def _hammer(
    url: str,
    key: str,
    questions: Sequence[str],
    over: threading.Event,
    *,
    until_refused: bool = False,
) -> list[int]:
    client = Client(url, key)
    statuses: list[int] = []
    while not over.is_set():
        question = questions[len(statuses) % len(questions)]
        status = client.ask({"query": question, "k": 10}).status
        statuses.append(status)
        if status == 429:
            if until_refused:
                break
            time.sleep(AFTER_REFUSAL)
    return statuses


def _ask_slowly(url: str, tenant: Tenant, seconds: float) -> list[float]:
    client = Client(url, tenant.key)
    times: list[float] = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        question = tenant.questions[len(times) % len(tenant.questions)]
        times.append(client.ask({"query": question, "k": 10}).seconds)
        time.sleep(PAUSE)
    return times


def upload_behind(url: str, tenants: Sequence[Tenant], *, uploads: int) -> float:
    """Return the seconds until one document of another tenant is searchable, uploaded right after
    so many."""
    many, one = Client(url, tenants[0].key), Client(url, tenants[-1].key)
    mark = str(time.time_ns())
    for first in range(0, uploads, BATCH):
        count = min(BATCH, uploads - first)
        _upload(many, [_document(f"{mark} {n}") for n in range(first, first + count)])
    started = time.monotonic()
    result = _upload(one, [_document(f"{mark} alone")])
    job = result["results"][0]["job_id"]
    waited = _wait_for(one, job, started)
    left = many.get("/api/v1/jobs?state=queued").answer()
    say(f"\n### One upload behind {uploads} of another tenant\n")
    waiting = "others were still waiting" if left["results"] else "no other was waiting any more"
    say(f"searchable after {waited:.1f} s; {waiting}")
    return waited


def _document(name: str) -> dict[str, str]:
    text = f"# Note {name}\n\nThe kiln of {name} is heated for nine hours and cooled for twelve."
    return {"content": text, "title": name, "source_uri": name, "media_type": "text/markdown"}


def _upload(client: Client, documents: Sequence[dict[str, str]]) -> Any:
    outcome = client.post("/api/v1/ingest", json.dumps({"documents": documents}).encode())
    if outcome.status not in (200, 202):
        raise SystemExit(f"ingest: {outcome.status} {outcome.body[:500]!r}")
    return outcome.answer()


def _wait_for(client: Client, job: str, started: float) -> float:
    while time.monotonic() - started < PATIENCE:
        state = client.get(f"/api/v1/jobs/{job}").answer()
        if state["state"] == "succeeded":
            return time.monotonic() - started
        if state["state"] in ("failed", "cancelled"):
            raise SystemExit(f"the upload failed: {state}")
        time.sleep(POLL)
    return float("inf")
