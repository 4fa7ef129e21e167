"""Following a job: lists, waiting for the end, and the stream of its events."""

import asyncio
import json
import threading
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
from django.db import connection, connections
from django.test import AsyncClient
from django.urls import reverse

from documents.api import events
from documents.ingestion import removal
from documents.ingestion.pipeline import ingest
from documents.jobs import heartbeat
from documents.jobs import queue as jobs
from documents.models import IngestJob, Namespace
from ragsite.database.tenancy import namespace, operator

from ..client import Answer, Api

HARBOUR = "# Harbour\n\nThe harbour has twelve lights.\n"
OPEN_TRANSACTIONS = (
    "SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in transaction%' "
    "AND usename <> 'postgres'"
)


def queue(api: Api, text: str = HARBOUR) -> str:
    answer = api.upload((f"{uuid.uuid4()}.md", text), on_duplicate="keep")
    return answer.body["results"][0]["job_id"]


def send_texts(api: Api, *documents: Any, **options: Any) -> Answer:
    return api.post("ingest", {"documents": list(documents), **options})


def read_events(raw: bytes) -> list[tuple[str, Any]]:
    """As an EventSource would read them; comments are left out."""
    found = []
    for block in raw.decode().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if line[:1] != ":")
        if fields:
            found.append((fields["event"], json.loads(fields["data"])))
    return found


def open_transactions() -> int:
    with connections["owner"].cursor() as cursor:
        cursor.execute(OPEN_TRANSACTIONS)
        return cursor.fetchone()[0]


@pytest.fixture(autouse=True)
def _quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "POLL_SECONDS", 0.02)


# -- the list ----------------------------------------------------------------------------


def test_a_job_shows_how_far_it_is(api: Api, work: Callable[[], int]):
    job_id = queue(api)
    waiting = api.get(f"jobs/{job_id}").body
    assert (waiting["state"], waiting["stage"], waiting["attempts"]) == ("queued", "waiting", 0)
    work()
    done = api.get(f"jobs/{job_id}").body
    assert (done["state"], done["stage"], done["attempts"]) == ("succeeded", "done", 1)
    assert done["passages_done"] == done["passages_total"] == 1
    assert set(done["times_ms"]) >= {"extract", "split", "embed"}
    assert done["started_at"] < done["finished_at"]
    assert done["error"] is None


def test_jobs_are_listed_newest_first_and_filtered(api: Api, work: Callable[[], int]):
    old = queue(api)
    work()
    new = queue(api)

    def found(query: str = "") -> list[str]:
        return [job["id"] for job in api.get(f"jobs{query}").body["results"]]

    assert found() == [new, old]
    assert found("?state=queued") == [new]
    document_id = api.get(f"jobs/{old}").body["document_id"]
    assert found(f"?document_id={document_id}") == [old]
    assert found(f"?document_id={uuid.uuid4()}") == []


# -- waiting ----------------------------------------------------------------------------


@pytest.fixture
def worker_later(db: None) -> Iterator[Callable[[], None]]:
    """Starts a worker beside the test, as in real life."""
    stop = threading.Event()
    threads = []

    def run() -> None:
        try:
            while not stop.wait(0.1):
                if claim := jobs.claim(heartbeat.group()):
                    ingest(claim)
        finally:
            connections.close_all()

    def start() -> None:
        threads.append(threading.Thread(target=run))
        threads[-1].start()

    yield start
    stop.set()
    for thread in threads:
        thread.join()


@pytest.fixture
def worker(worker_later: Callable[[], None]) -> None:
    worker_later()


@pytest.mark.usefixtures("worker")
def test_whoever_waits_is_told_how_it_ended(api: Api):
    good, bad = {"content": HARBOUR}, {"content": " \n "}
    answer = send_texts(api, good, wait=30)
    (result,) = answer.body["results"]
    assert answer.status == 200
    assert (answer.body["indexed"], answer.body["failed"]) == (1, 0)
    assert result["status"] == "ready"
    assert result["chunks_count"] == 1
    assert result["tokens_estimate"] > 3
    answer = send_texts(api, bad, wait=30)
    (result,) = answer.body["results"]
    assert (answer.status, answer.body["failed"]) == (200, 1)
    assert (result["status"], result["error"]["code"]) == ("failed", "no_text")


def test_waiting_ends_in_time_when_nobody_works(api: Api, settings: Any):
    settings.INGEST_MAX_WAIT = 0.2
    answer = send_texts(api, {"content": HARBOUR}, wait=3600)
    assert answer.status == 202
    assert answer.body["results"][0]["status"] == "queued"


# -- events ------------------------------------------------------------------------------


def test_the_stream_of_a_job_that_has_ended_is_one_end(api: Api, work: Callable[[], int]):
    job_id = queue(api)
    work()
    answer = api.get(f"jobs/{job_id}/events")
    assert answer.status == 200
    assert answer.headers["Content-Type"] == "text/event-stream"
    assert answer.headers["Cache-Control"] == "no-cache, no-transform"
    assert answer.headers["X-Accel-Buffering"] == "no"
    ((name, job),) = read_events(answer.body)
    assert name == "end"
    assert job == json.loads(json.dumps(api.get(f"jobs/{job_id}").body))


def test_the_stream_tells_of_progress_and_then_of_the_end(
    api: Api, worker_later: Callable[[], None]
):
    job_id = queue(api)
    worker_later()
    told = read_events(api.get(f"jobs/{job_id}/events", Accept="text/event-stream").body)
    assert [name for name, _ in told] == ["progress"] * (len(told) - 1) + ["end"]
    states = [job["state"] for _, job in told]
    assert (states[0], states[-1]) == ("queued", "succeeded")
    assert len({json.dumps(job) for _, job in told}) == len(told)  # only what changed is told


def test_a_job_that_fails_ends_with_its_reason(api: Api, work: Callable[[], int]):
    job_id = queue(api, " \n ")
    work()
    ((name, job),) = read_events(api.get(f"jobs/{job_id}/events").body)
    assert (name, job["state"], job["error"]["code"]) == ("end", "failed", "no_text")


def test_a_job_whose_document_is_deleted_ends_as_deleted(tenant: Namespace, api: Api):
    job_id = queue(api)
    with operator():
        document_id = IngestJob.objects.get(pk=job_id).document_id

    async def watch() -> list[tuple[str, Any]]:
        told = []
        async for event in events.follow(tenant.pk, uuid.UUID(job_id)):
            told.append(event)
            if len(told) == 1:
                await asyncio.to_thread(_remove, tenant, document_id)
        return told

    (first, _), (last, job) = asyncio.run(watch())
    assert (first, last) == ("progress", "end")
    assert job == {"id": job_id, "state": "deleted"}


def _remove(tenant: Namespace, document_id: uuid.UUID) -> None:
    removal.remove(tenant.pk, document_id)
    connections.close_all()


def test_nobody_follows_another_tenants_job(
    api: Api, api_of: Callable[..., Api], other_tenant: Namespace
):
    job_id = queue(api)
    stranger = api_of(other_tenant)
    for accept in ("*/*", "text/event-stream"):
        foreign = stranger.get(f"jobs/{job_id}/events", Accept=accept)
        unknown = stranger.get(f"jobs/{uuid.uuid4()}/events", Accept=accept)
        assert foreign.status == unknown.status == 404
        assert foreign.headers["Content-Type"] == "application/json"
        assert foreign.code == unknown.code == "not_found"

    async def first() -> Any:
        return await anext(events.follow(other_tenant.pk, uuid.UUID(job_id)))

    assert asyncio.run(first()) == ("end", {"id": job_id, "state": "deleted"})


def test_no_transaction_stays_open_between_two_events(api: Api, monkeypatch: pytest.MonkeyPatch):
    """The job waits all the while: every event but the first is a sign of life."""
    monkeypatch.setattr(events, "HEARTBEAT_SECONDS", 0.05)
    job_id = queue(api)
    steps = []

    async def watch(client: AsyncClient) -> None:
        response = await client.get(
            reverse("job-events", args=[job_id]), headers={"Authorization": f"Bearer {api.key}"}
        )
        assert response.status_code == 200
        stream: AsyncIterator[bytes] = aiter(response.streaming_content)
        for _ in range(3):
            steps.append((await anext(stream), await asyncio.to_thread(_state_of_connections)))
        response.close()

    asyncio.run(watch(AsyncClient()))
    assert steps[0][0].startswith(b"event: progress")
    assert {block for block, _ in steps[1:]} == {b": still here\n\n"}
    assert [idle for _, idle in steps] == [0, 0, 0]


def _state_of_connections() -> int:
    try:
        return open_transactions()
    finally:
        connections.close_all()


def test_a_look_at_a_job_leaves_its_connection_clean(tenant: Namespace, api: Api):
    job_id = uuid.UUID(queue(api))
    assert events._look(tenant.pk, job_id)["state"] == "queued"
    assert not connection.in_atomic_block
    assert IngestJob.objects.filter(pk=job_id).first() is None  # no tenant any more
    with namespace(tenant.pk):  # and the transaction of whoever calls next is its own
        assert IngestJob.objects.filter(pk=job_id).exists()


def test_a_stream_ends_after_its_longest_time(
    tenant: Namespace, api: Api, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(events, "LONGEST", 0.2)
    told = read_events(api.get(f"jobs/{queue(api)}/events").body)
    assert [name for name, _ in told] == ["progress", "end"]
    assert told[-1][1]["state"] == "queued"
