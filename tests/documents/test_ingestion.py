"""From a stored original to searchable chunks: retried, resumed, overtaken, cancelled, deleted."""

import hashlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.core.files.base import ContentFile
from django.db import connection, connections
from django.db.models.functions import Now
from django_q.exceptions import TimeoutException

from documents.embedders.hashing import HashingEmbedder
from documents.extractors import extractor_for
from documents.ingestion import removal
from documents.ingestion.pipeline import ingest
from documents.ingestion.publishing import publish
from documents.intake import intake
from documents.intake.intake import Receipt, Submission
from documents.jobs import queue
from documents.jobs.claims import Claim, LeaseLost
from documents.jobs.leases import Lease
from documents.models import (
    Chunk,
    ChunkTerms,
    Document,
    DocumentVersion,
    EmbeddingCache,
    IndexProfile,
    IngestJob,
    Namespace,
    WorkerHeartbeat,
)
from ragsite.database.tenancy import namespace, operator
from ragsite.platform.backends import load_backend

from ..client import Api

SECTIONS = "\n\n".join(f"# Section {n}\n\nParagraph number{n} of the text." for n in range(7))


class WatchedEmbedder(HashingEmbedder):
    """Keeps account of what it is asked, and lets a test act in the midst of the work."""

    def __init__(self) -> None:
        super().__init__(batch_size=2)
        self.batches: list[list[str]] = []
        self.meanwhile: Callable[[int], None] = lambda number: None

    def embed_batch(self, texts: list[str]) -> list[list[float]]:
        self.meanwhile(len(self.batches) + 1)
        self.batches.append(texts)
        return super().embed_batch(texts)


@pytest.fixture
def embedder(settings: Any) -> Iterator[WatchedEmbedder]:
    backend = f"{__name__}.{WatchedEmbedder.__name__}"
    settings.EMBEDDERS = {**settings.EMBEDDERS, "hashing": {"BACKEND": backend}}
    load_backend.cache_clear()
    yield load_backend("EMBEDDERS", "hashing")
    load_backend.cache_clear()


class Killed(BaseException):
    """As `kill -9`: nobody gets to clean up."""


def submit(tenant: Namespace, text: str = SECTIONS, **said: Any) -> Receipt:
    said.setdefault("file_name", "a.md")
    return intake.accept(tenant.pk, Submission(content=ContentFile(text.encode()), **said))


def claimed() -> Claim:
    claim = queue.claim("host:1")
    assert claim
    return claim


def take_back() -> None:
    with operator():
        IngestJob.objects.filter(state="running").update(lease_until=Now() - timedelta(seconds=1))
    queue.requeue_stalled()


def due() -> None:
    with operator():
        IngestJob.objects.filter(state="queued").update(run_after=Now())


def only(model: type) -> Any:
    with operator():
        return model.objects.get()


def chunks() -> list[tuple[Any, ...]]:
    with operator():
        rows = Chunk.objects.order_by("document", "ordinal")
        stored = list(rows.values_list("id", "content", "start", "end", "section"))
        words = dict(ChunkTerms.objects.values_list("chunk_id", "search_vector"))
    return [(*row, words[row[0]]) for row in stored]


# -- killed, retried, resumed -----------------------------------------------------------


def test_a_second_run_of_the_same_work_gives_the_same_chunks(
    tenant: Namespace, work: Callable[[], int]
):
    receipt = submit(tenant)
    work()
    first = chunks()
    assert len(first) == 7
    intake.resubmit(tenant.pk, receipt.document_id)
    assert work() == 1
    assert chunks() == first
    assert only(DocumentVersion).state == "live"


def test_an_attempt_killed_while_embedding_is_resumed_where_it_stopped(
    tenant: Namespace, embedder: WatchedEmbedder
):
    submit(tenant)

    def die(number: int) -> None:
        if number == 2:
            raise Killed

    embedder.meanwhile = die
    with pytest.raises(Killed):
        ingest(claimed())
    job = only(IngestJob)
    assert (job.state, job.stage, job.passages_done, job.passages_total) == (
        "running",
        "embed",
        2,
        7,
    )
    assert not chunks()

    embedder.meanwhile = lambda number: None
    take_back()
    ingest(claimed())
    texts = [text for batch in embedder.batches for text in batch]
    assert len(texts) == len(set(texts)) == 7  # nothing twice, nothing left out
    assert [len(batch) for batch in embedder.batches] == [2, 2, 2, 1]
    job = only(IngestJob)
    assert (job.state, job.attempts, job.passages_done) == ("succeeded", 2, 7)
    assert len(chunks()) == 7


def test_every_chunk_has_the_vector_of_its_own_text_over_many_batches(
    tenant: Namespace, embedder: WatchedEmbedder
):
    submit(tenant)
    ingest(claimed())
    assert [len(batch) for batch in embedder.batches] == [2, 2, 2, 1]
    with operator():
        stored = list(Chunk.objects.values_list("content", "embedding"))
        cached = list(EmbeddingCache.objects.values_list("text_sha256", "embedding"))
    assert len(stored) == len(cached) == 7
    plain = HashingEmbedder(dimensions=256)
    by_hash = {hashlib.sha256(text.encode()).digest(): text for text, _ in stored}
    for text, vector in stored:  # in half precision
        assert list(vector) == pytest.approx(plain.embed_batch([text])[0], abs=1e-3), text
    for digest, vector in cached:
        text = by_hash[bytes(digest)]
        assert list(vector) == pytest.approx(plain.embed_batch([text])[0], abs=1e-6), text


def test_a_new_version_embeds_only_what_changed(tenant: Namespace, embedder: WatchedEmbedder):
    submit(tenant)
    ingest(claimed())
    embedder.batches.clear()
    submit(tenant, SECTIONS.replace("number3", "number33"))
    ingest(claimed())
    (batch,) = embedder.batches
    assert len(batch) == 1
    assert "number33" in batch[0]


def test_another_tenant_gains_nothing_from_what_one_has_embedded(
    tenant: Namespace, other_tenant: Namespace, embedder: WatchedEmbedder
):
    for owner in (tenant, other_tenant):
        embedder.batches.clear()
        submit(owner)
        ingest(claimed())
        assert sum(map(len, embedder.batches)) == 7


def test_a_broken_embedder_is_retried_then_given_up_and_mended(
    tenant: Namespace, embedder: WatchedEmbedder, api: Api, caplog: pytest.LogCaptureFixture
):
    receipt = submit(tenant)

    def fail(number: int) -> None:
        raise ConnectionError("no route to https://user:hunter2@embeddings.example")

    embedder.meanwhile = fail
    for attempt in range(1, 4):
        due()
        ingest(claimed())
        assert only(IngestJob).attempts == attempt
    document = api.get(f"documents/{receipt.document_id}").body
    assert (document["status"], document["error"]["code"]) == ("failed", "embedding_failed")
    assert "no route" not in document["error"]["message"]  # that is for the log
    assert "no route" in caplog.text
    assert queue.claim("host:1") is None
    assert not chunks()
    embedder.meanwhile = lambda number: None
    assert api.post(f"documents/{receipt.document_id}/reindex").status == 202
    ingest(claimed())
    document = api.get(f"documents/{receipt.document_id}").body
    assert (document["status"], document["error"]) == ("ready", None)


def test_an_attempt_that_takes_too_long_is_told_so_and_retried(
    tenant: Namespace, embedder: WatchedEmbedder
):
    submit(tenant)

    def time_out(number: int) -> None:
        raise TimeoutException  # how django-q2 interrupts a task

    embedder.meanwhile = time_out
    ingest(claimed())
    job = only(IngestJob)
    assert (job.state, job.error_code) == ("queued", "timeout")
    assert "JOB_TIMEOUT" in job.error_message


def test_a_long_attempt_keeps_its_lease(
    tenant: Namespace, embedder: WatchedEmbedder, settings: Any
):
    settings.JOB_LEASE_SECONDS = 1.5
    submit(tenant, "# One\n\nPassage.")
    embedder.meanwhile = lambda number: time.sleep(2.5)
    stop = threading.Event()
    taken: list[int] = []

    def reap() -> None:
        while not stop.wait(0.1):
            taken.append(queue.requeue_stalled())
        connections.close_all()

    reaper = threading.Thread(target=reap)
    claim = claimed()
    reaper.start()
    ingest(claim)
    stop.set()
    reaper.join()
    assert len(taken) > 5
    assert not any(taken)
    job = only(IngestJob)
    assert (job.state, job.attempts) == ("succeeded", 1)
    assert only(WorkerHeartbeat)  # a long job is a sign of life, too


def test_a_lease_outlives_the_loss_of_its_connection(
    tenant: Namespace, embedder: WatchedEmbedder, settings: Any
):
    settings.JOB_LEASE_SECONDS = 1.8
    submit(tenant, "# One\n\nPassage.")

    def cut_the_line(number: int) -> None:
        time.sleep(0.9)  # the lease has been renewed once, over a connection of its own
        assert end_connections(besides=[connection]) >= 1
        time.sleep(2.0)
        assert queue.requeue_stalled() == 0

    embedder.meanwhile = cut_the_line
    ingest(claimed())
    assert only(IngestJob).state == "succeeded"


def test_an_attempt_that_loses_the_database_costs_a_try_and_nothing_else(
    tenant: Namespace, embedder: WatchedEmbedder
):
    submit(tenant)

    def cut_the_line(number: int) -> None:
        if number == 2:
            embedder.meanwhile = lambda number: None  # the next attempt may begin before this ends
            assert end_connections() >= 1

    embedder.meanwhile = cut_the_line
    ingest(claimed())
    job = only(IngestJob)
    assert (job.state, job.attempts, job.error_code) == ("queued", 1, "internal_error")
    due()
    ingest(claimed())
    assert only(IngestJob).state == "succeeded"
    assert len(chunks()) == 7


def end_connections(besides: Sequence[Any] = ()) -> int:
    """End the application's sessions, as a restart of the database would."""
    spared = [line.connection.info.backend_pid for line in besides]
    with connections["owner"].cursor() as cursor:
        cursor.execute(
            "SELECT count(pg_terminate_backend(pid, 1000)) FROM pg_stat_activity "
            "WHERE usename = 'ragsite_app' AND pid <> ALL (%s)",
            [spared],
        )
        return cursor.fetchone()[0]


# -- taken away while it runs --------------------------------------------------------------


def test_a_job_cancelled_while_it_runs_publishes_nothing(
    tenant: Namespace, embedder: WatchedEmbedder
):
    receipt = submit(tenant)

    def cancel(number: int) -> None:
        if number == 2:
            with namespace(tenant.pk):
                assert queue.cancel(receipt.job_id)

    embedder.meanwhile = cancel
    ingest(claimed())
    job, document = only(IngestJob), only(Document)
    assert (job.state, job.error_code) == ("cancelled", "cancelled")
    assert (document.status, document.live_version, document.chunks_count) == ("cancelled", None, 0)
    assert len(embedder.batches) <= 3  # it stopped at the next write; one was under way by then
    assert not chunks()


def test_a_document_deleted_while_it_is_indexed_leaves_nothing(
    tenant: Namespace, embedder: WatchedEmbedder
):
    receipt = submit(tenant)

    def delete(number: int) -> None:
        if number == 2:
            removal.remove(tenant.pk, receipt.document_id)

    embedder.meanwhile = delete
    ingest(claimed())
    with operator():
        for model in (Document, DocumentVersion, IngestJob, Chunk, EmbeddingCache):
            assert not model.objects.exists(), model
        assert Namespace.objects.get(pk=tenant.pk).chunk_count == 0
    storage = Path(django_settings.HOME) / "storage"
    assert not [path for path in storage.rglob("*") if path.is_file()]


def test_a_worker_that_was_overtaken_in_its_last_step_publishes_nothing(
    tenant: Namespace, hashing_profile: IndexProfile
):
    receipt = submit(tenant, "# One\n\nPassage.")
    slow = claimed()
    take_back()
    ingest(claimed())
    before = chunks()
    version = only(DocumentVersion)
    extracted = extractor_for("text/markdown").extract(b"# Other\n\nWords.")
    with pytest.raises(LeaseLost):
        publish(Lease(slow), version, hashing_profile, extracted, [], [])
    assert chunks() == before
    assert len(before) == 1
    assert only(DocumentVersion).text == "# One\n\nPassage."
    removal.remove(tenant.pk, receipt.document_id)
    with pytest.raises(LeaseLost):
        publish(Lease(slow), version, hashing_profile, extracted, [], [])


def test_a_worker_overtaken_while_it_embeds_leaves_the_chunks_once(
    tenant: Namespace, embedder: WatchedEmbedder
):
    submit(tenant)

    def overtake(number: int) -> None:
        if number == 2:
            embedder.meanwhile = lambda number: None
            claim = None
            while claim is None:  # the first worker, storing a batch meanwhile, renews its lease
                take_back()
                claim = queue.claim("host:1")
            ingest(claim)

    embedder.meanwhile = overtake
    ingest(claimed())
    job = only(IngestJob)
    assert (job.state, job.attempts) == ("succeeded", 2)
    assert len(chunks()) == 7
    with operator():
        assert Namespace.objects.get(pk=tenant.pk).chunk_count == 7
