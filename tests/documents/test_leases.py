"""How far the work is, and that it is lost: shown and noticed in time, at hardly any cost."""

import time
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.db import connection

from documents.embedders.hashing import HashingEmbedder
from documents.errors import NoText
from documents.ingestion import removal
from documents.ingestion.pipeline import ingest
from documents.intake import intake
from documents.intake.intake import Receipt, Submission
from documents.jobs import queue
from documents.jobs.claims import Claim, LeaseLost
from documents.jobs.leases import WRITE_SECONDS, Lease
from documents.metering.embeddings import MeteredEmbedder, this_month, usage_in
from documents.models import EmbeddingUsage, IngestJob, Namespace
from ragsite.database.tenancy import namespace, operator

from ..threads import at_once

SECTIONS = "\n\n".join(f"# Section {n}\n\nParagraph number{n} of the text." for n in range(7))
Stage = IngestJob.Stage


def submit(tenant: Namespace, text: str = SECTIONS, name: str = "a.md") -> Receipt:
    content = ContentFile(text.encode())
    return intake.accept(tenant.pk, Submission(content=content, file_name=name))


def claimed() -> Claim:
    claim = queue.claim("host:1")
    assert claim
    return claim


def row() -> IngestJob:
    with operator():
        return IngestJob.objects.get()


def shown() -> tuple[str, int, int]:
    job = row()
    return job.stage, job.passages_done, job.passages_total


def cancel(tenant: Namespace, job_id: uuid.UUID) -> None:
    with namespace(tenant.pk):
        assert queue.cancel(job_id)


@pytest.fixture
def statements() -> Callable[[Callable[[], Any]], list[str]]:
    def of(work: Callable[[], Any]) -> list[str]:
        seen: list[str] = []

        def note(execute: Any, sql: str, *rest: Any) -> Any:
            seen.append(sql)
            return execute(sql, *rest)

        with connection.execute_wrapper(note):
            work()
        return seen

    return of


def test_a_small_document_takes_few_statements(
    tenant: Namespace, statements: Callable[[Callable[[], Any]], list[str]]
):
    submit(tenant)  # much text, so that the words are not counted again
    ingest(claimed())
    taken = statements(lambda: submit(tenant, "# One\n\nPassage.", "b.md"))
    assert len(taken) <= 11, taken  # two of them look at the quotas
    worked = statements(lambda: ingest(claimed()))
    assert len(worked) <= 23, worked  # three of them look at the quotas
    transactions = [sql for sql in worked if "set_config" in sql]
    assert len(transactions) <= 6, worked


def test_a_slow_step_is_shown_while_it_lasts(tenant: Namespace, monkeypatch: pytest.MonkeyPatch):
    submit(tenant)
    seen: list[tuple[str, int, int]] = []
    embed = HashingEmbedder.embed_batch

    def slowly(self: HashingEmbedder, texts: list[str]) -> list[list[float]]:
        time.sleep(2.5 * WRITE_SECONDS)
        seen.append(shown())
        return embed(self, texts)

    monkeypatch.setattr(HashingEmbedder, "embed_batch", slowly)
    ingest(claimed())
    assert seen == [("embed", 0, 7)]
    assert shown() == ("done", 7, 7)


def test_a_step_after_a_slow_one_is_shown_at_once(tenant: Namespace):
    submit(tenant)
    lease = Lease(claimed())  # nobody keeps it alive
    with lease.stage(Stage.EXTRACT):
        assert row().stage == "waiting"
        time.sleep(1.1 * WRITE_SECONDS)
    with lease.stage(Stage.SPLIT):
        assert row().stage == "split"


def test_a_cancel_stops_the_work_at_its_next_step(tenant: Namespace):
    receipt = submit(tenant)
    lease = Lease(claimed())
    with lease.stage(Stage.EXTRACT):
        cancel(tenant, receipt.job_id)
        time.sleep(1.1 * WRITE_SECONDS)
    with pytest.raises(LeaseLost), lease.stage(Stage.SPLIT):
        pass


def test_what_the_leases_own_thread_finds_out_stops_the_work(tenant: Namespace):
    receipt = submit(tenant)
    with Lease(claimed()) as lease:
        with lease.stage(Stage.EXTRACT):
            cancel(tenant, receipt.job_id)
            lease._thread.join(timeout=10)
            assert not lease._thread.is_alive()
        with pytest.raises(LeaseLost):
            lease.progress(1, 2)


def test_what_was_stored_stays_when_the_lease_is_lost(tenant: Namespace):
    receipt = submit(tenant)
    lease = Lease(claimed())
    cancel(tenant, receipt.job_id)
    with pytest.raises(LeaseLost), lease.advancing(1, 2):
        IngestJob.objects.update(worker="was here")
    job = row()
    assert (job.worker, job.passages_done, job.state) == ("was here", 0, "cancelled")


@pytest.mark.parametrize(
    ("text", "where"), [(" \n ", ("extract", 0, 0)), (SECTIONS, ("embed", 0, 7))]
)
def test_a_job_that_failed_says_where(
    tenant: Namespace, monkeypatch: pytest.MonkeyPatch, text: str, where: tuple[str, int, int]
):
    def refuse(self: HashingEmbedder, texts: list[str]) -> None:
        raise NoText("Not with me.")

    monkeypatch.setattr(HashingEmbedder, "embed_batch", refuse)
    submit(tenant, text)
    ingest(claimed())
    assert row().state == "failed"
    assert shown() == where


def test_tokens_of_a_document_deleted_meanwhile_were_spent(
    tenant: Namespace, monkeypatch: pytest.MonkeyPatch
):
    receipt = submit(tenant)
    embed = HashingEmbedder.embed_batch

    def delete(self: HashingEmbedder, texts: list[str]) -> list[list[float]]:
        removal.remove(tenant.pk, receipt.document_id)
        return embed(self, texts)

    monkeypatch.setattr(HashingEmbedder, "embed_batch", delete)
    ingest(claimed())
    with operator():
        assert not IngestJob.objects.exists()
        assert EmbeddingUsage.objects.get().tokens > 7


def test_workers_that_book_at_once_lose_no_token(tenant: Namespace):
    embedder = MeteredEmbedder(HashingEmbedder(), tenant.pk, uuid.uuid4())

    def book(_: int) -> None:
        for _ in range(20):
            with namespace(tenant.pk):
                embedder.book(3)

    at_once(4, book)
    with namespace(tenant.pk):
        assert usage_in(tenant.pk, this_month())[0] == 4 * 20 * 3
