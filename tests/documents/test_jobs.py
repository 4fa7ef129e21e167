"""The life of a job: claimed fairly, held by a lease, taken back, cancelled, ended — never lost."""

import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.db.models.functions import Now
from django.utils import timezone
from django_q.models import OrmQ

from documents.errors import EmbeddingFailed, NoText
from documents.ingestion.pipeline import ingest
from documents.intake import intake
from documents.intake.intake import Receipt, Submission
from documents.jobs import queue
from documents.jobs.claims import Claim
from documents.models import Chunk, Document, DocumentVersion, IngestJob, Namespace
from ragsite.database.tenancy import namespace, operator

from ..client import Api
from ..threads import at_once

ME = "host:1"


def submit(tenant: Namespace, name: str = "a.md", text: str = "") -> Receipt:
    data = (text or f"# {name}\n\nThe words of {name} in {tenant.slug}.").encode()
    return intake.accept(tenant.pk, Submission(content=ContentFile(data), file_name=name))


def claimed(worker: str = ME) -> Claim:
    claim = queue.claim(worker)
    assert claim
    return claim


def job_row(claim_or_id: Claim | uuid.UUID | None) -> IngestJob:
    job_id = claim_or_id.job_id if isinstance(claim_or_id, Claim) else claim_or_id
    with operator():
        return IngestJob.objects.select_related("version", "document").get(pk=job_id)


def change_jobs(**fields: Any) -> None:
    with operator():
        IngestJob.objects.update(**fields)


def let_leases_run_out() -> None:
    with operator():
        running = IngestJob.objects.filter(state="running")
        running.update(lease_until=Now() - timedelta(seconds=1))


def wake_ups() -> int:
    return OrmQ.objects.count()


# -- claiming ---------------------------------------------------------------------------


def test_an_attempt_is_counted_and_shown_before_the_work_starts(tenant: Namespace):
    receipt = submit(tenant)
    claim = claimed()
    assert (claim.job_id, claim.namespace_id) == (receipt.job_id, tenant.pk)
    job = job_row(claim)
    assert (job.state, job.attempts, job.worker) == ("running", 1, ME)
    assert job.lease_token == claim.token
    assert job.lease_until > timezone.now() + timedelta(seconds=20)
    assert (job.version.state, job.document.status) == ("processing", "processing")
    assert queue.claim(ME) is None


def test_a_tenant_with_one_job_need_not_wait_for_one_with_fifty(
    tenant: Namespace, other_tenant: Namespace
):
    for number in range(50):
        submit(tenant, f"{number}.md")
    submit(other_tenant)
    assert other_tenant.pk in {claimed().namespace_id for _ in range(2)}


def test_tenants_take_turns_when_work_is_done_at_once(tenant: Namespace, other_tenant: Namespace):
    for number in range(8):
        submit(tenant, f"{number}.md")
    for number in range(3):
        submit(other_tenant, f"{number}.md")
    served = []
    for _ in range(6):
        claim = claimed()
        ingest(claim)
        served.append(claim.namespace_id)
    assert served.count(other_tenant.pk) == 3


def test_a_tenant_with_nothing_running_goes_before_one_with_something(
    tenant: Namespace, other_tenant: Namespace
):
    for owner in (tenant, other_tenant):
        submit(owner, "1.md")
        submit(owner, "2.md")
    assert claimed().namespace_id == tenant.pk  # and goes on running
    served = claimed()
    ingest(served)
    assert served.namespace_id == other_tenant.pk
    assert claimed().namespace_id == other_tenant.pk


def test_within_a_tenant_the_oldest_goes_first(tenant: Namespace):
    receipts = [submit(tenant, f"{number}.md") for number in range(5)]
    assert [claimed().job_id for _ in receipts] == [receipt.job_id for receipt in receipts]


def test_many_workers_at_once_never_get_the_same_job(tenant: Namespace, other_tenant: Namespace):
    for number in range(6):
        submit(tenant, f"{number}.md")
        submit(other_tenant, f"{number}.md")
    got = at_once(12, lambda n: queue.claim(f"host:{n}"))
    while claim := queue.claim(ME):  # those who found only locked rows went home
        got.append(claim)
    ids = [claim.job_id for claim in got if claim]
    assert len(ids) == len(set(ids)) == 12
    with operator():
        assert set(IngestJob.objects.values_list("attempts", flat=True)) == {1}


def test_a_job_whose_time_has_not_come_is_neither_claimed_nor_rung_for(tenant: Namespace):
    submit(tenant)
    OrmQ.objects.all().delete()
    change_jobs(run_after=Now() + timedelta(seconds=60))
    assert queue.claim(ME) is None
    queue.requeue_stalled()
    assert wake_ups() == 0
    change_jobs(run_after=Now() - timedelta(seconds=1))
    assert queue.claim(ME)


# -- leases and the reaper ---------------------------------------------------------------


def test_a_job_with_a_fresh_lease_stays_with_its_worker(tenant: Namespace):
    submit(tenant)
    claim = claimed()
    assert queue.requeue_stalled() == 0
    assert job_row(claim).lease_token == claim.token


def test_a_job_whose_lease_ran_out_is_queued_and_rung_for(tenant: Namespace):
    submit(tenant)
    claim = claimed()
    let_leases_run_out()
    before = wake_ups()
    assert queue.requeue_stalled() == 1
    job = job_row(claim)
    assert (job.state, job.stage, job.attempts) == ("queued", "waiting", 1)
    assert (job.lease_token, job.lease_until) == (None, None)
    assert (job.version.state, job.document.status) == ("queued", "queued")
    assert wake_ups() == before + 1
    again = claimed()
    assert again.job_id == claim.job_id
    assert again.token != claim.token
    ingest(again)
    assert job_row(claim).state == "succeeded"
    assert job_row(claim).attempts == 2


def test_a_document_that_kills_its_workers_is_given_up_and_can_be_tried_again(tenant: Namespace):
    receipt = submit(tenant)
    for attempt in range(1, 4):
        claim = claimed()
        assert job_row(claim).attempts == attempt
        let_leases_run_out()
        queue.requeue_stalled()
    job = job_row(receipt.job_id)
    assert (job.state, job.error_code) == ("failed", "attempts_exhausted")
    assert "3 times" in job.error_message
    assert (job.document.status, job.document.error_code) == ("failed", "attempts_exhausted")
    assert job.version.state == "failed"
    assert job.finished_at
    assert queue.claim(ME) is None
    again = intake.resubmit(tenant.pk, receipt.document_id)
    assert again.job_id != receipt.job_id
    ingest(claimed())
    assert job_row(again.job_id).document.status == "ready"


def test_the_jobs_of_buried_workers_are_taken_back_at_once(tenant: Namespace):
    submit(tenant, "a.md")
    submit(tenant, "b.md")
    dead, alive = claimed("host:7"), claimed("host:8")
    assert queue.requeue_stalled(["host:7", "host:99"]) == 1
    assert job_row(dead).state == "queued"
    assert job_row(alive).state == "running"


def test_the_reaper_rings_for_jobs_whose_bells_were_lost_and_rings_once(tenant: Namespace):
    for number in range(3):
        submit(tenant, f"{number}.md")
    assert wake_ups() == 3
    OrmQ.objects.all().delete()
    queue.requeue_stalled()
    assert wake_ups() == 0  # they are not overdue yet
    change_jobs(run_after=Now() - timedelta(seconds=10))
    queue.requeue_stalled()
    assert wake_ups() == 3
    queue.requeue_stalled()
    assert wake_ups() == 3


def test_bells_are_limited_however_much_is_forgotten(tenant: Namespace, monkeypatch: Any):
    monkeypatch.setattr(queue, "MAX_WAKE_UPS", 3)
    for number in range(5):
        submit(tenant, f"{number}.md")
    OrmQ.objects.all().delete()
    change_jobs(run_after=Now() - timedelta(seconds=10))
    queue.requeue_stalled()
    assert wake_ups() == 3


def test_reapers_at_once_take_a_job_back_once(tenant: Namespace):
    submit(tenant)
    claim = claimed()
    let_leases_run_out()
    before = wake_ups()
    at_once(6, lambda _: queue.requeue_stalled())
    assert job_row(claim).state == "queued"
    assert wake_ups() == before + 1


def test_a_worker_that_lost_its_lease_can_neither_write_nor_fail_the_job(tenant: Namespace):
    submit(tenant)
    slow = claimed("host:1")
    let_leases_run_out()
    queue.requeue_stalled()
    fast = claimed("host:2")
    ingest(slow)  # wakes up, and finds the job is not its own any more
    assert queue.fail(slow, NoText("too late")) is False
    job = job_row(fast)
    assert (job.state, job.worker, job.error_code) == ("running", "host:2", "")
    with operator():
        assert Chunk.objects.count() == 0
    ingest(fast)
    assert job_row(fast).state == "succeeded"


# -- failing ------------------------------------------------------------------------------


def test_a_bad_file_fails_at_once_without_another_try(tenant: Namespace):
    submit(tenant)
    claim = claimed()
    assert queue.fail(claim, NoText("The file holds no text."))
    job = job_row(claim)
    assert (job.state, job.attempts, job.error_code) == ("failed", 1, "no_text")
    assert job.error_message == job.document.error_message == "The file holds no text."


def test_our_own_failures_are_tried_again_ever_later_and_then_given_up(tenant: Namespace):
    submit(tenant)
    waits = []
    for attempt in range(1, 4):
        change_jobs(run_after=Now())
        claim = claimed()
        queue.fail(claim, EmbeddingFailed("The model is away."))
        job = job_row(claim)
        assert (job.attempts, job.error_code) == (attempt, "embedding_failed")
        waits.append((job.run_after - timezone.now()).total_seconds())
        if attempt < 3:
            assert (job.state, job.document.status) == ("queued", "queued")
            assert queue.claim(ME) is None  # not before its time
    assert (job.state, job.document.status) == ("failed", "failed")
    assert 8 < waits[0] < waits[1]


def test_the_words_of_an_internal_error_stay_inside(tenant: Namespace):
    submit(tenant)
    change_jobs(max_attempts=1)
    claim = claimed()
    queue.fail(claim, ValueError("password=hunter2 in /etc/secret"))
    job = job_row(claim)
    assert (job.state, job.error_code) == ("failed", "internal_error")
    assert "ValueError" in job.error_message
    assert "hunter2" not in job.error_message + job.document.error_message


# -- cancelling, superseding, deleting ------------------------------------------------------


def test_a_waiting_job_can_be_cancelled_and_the_document_taken_up_again(
    tenant: Namespace, api: Api, work: Callable[[], int]
):
    receipt = submit(tenant)
    answer = api.post(f"jobs/{receipt.job_id}/cancel")
    assert (answer.status, answer.body["state"]) == (200, "cancelled")
    assert work() == 0
    assert api.get(f"documents/{receipt.document_id}").body["status"] == "cancelled"
    again = api.post(f"jobs/{receipt.job_id}/cancel")
    assert (again.status, again.code) == (409, "job_ended")
    assert submit(tenant).status == "queued"
    assert work() == 1
    assert api.get(f"documents/{receipt.document_id}").body["status"] == "ready"


def test_a_cancelled_job_of_a_live_version_leaves_it_searchable(
    tenant: Namespace, api: Api, work: Callable[[], int]
):
    receipt = submit(tenant, "a.md", "# A\n\nThe walrus sleeps.")
    work()
    reindex = api.post(f"documents/{receipt.document_id}/reindex")
    assert reindex.status == 202
    api.post(f"jobs/{reindex.body['job_id']}/cancel")
    assert len(api.query("walrus").body["results"]) == 1
    assert api.get(f"documents/{receipt.document_id}").body["live_version"] == 1


def test_a_newer_version_cancels_the_waiting_job_of_the_older(tenant: Namespace):
    old = submit(tenant, "a.md", "# A\n\nOld.")
    new = submit(tenant, "a.md", "# A\n\nNew.")
    job = job_row(old.job_id)
    assert (job.state, job.error_code) == ("cancelled", "superseded")
    assert job.version.state == "cancelled"
    assert (job.document.status, job.document.error_code) == ("queued", "")
    assert claimed().job_id == new.job_id
    assert queue.claim(ME) is None


@pytest.mark.parametrize("newer_first", [True, False])
def test_in_whichever_order_two_versions_finish_the_newer_is_live(
    newer_first: bool, tenant: Namespace
):
    submit(tenant, "a.md", "# A\n\nOld words.")
    older = claimed()
    submit(tenant, "a.md", "# A\n\nNew words.")
    newer = claimed()
    for claim in (newer, older) if newer_first else (older, newer):
        ingest(claim)
    with operator():
        document = Document.objects.get()
        (chunk,) = Chunk.objects.all()
        states = dict(DocumentVersion.objects.values_list("number", "state"))
    assert (document.status, document.live_version, document.document_version) == ("ready", 2, 2)
    assert "New words." in chunk.content
    assert states == {1: "superseded", 2: "live"}
    assert job_row(older).state == job_row(newer).state == "succeeded"


def test_a_failing_older_version_does_not_spoil_the_newer(tenant: Namespace):
    submit(tenant, "a.md", " \n ")
    older = claimed()
    submit(tenant, "a.md", "# A\n\nWords.")
    newer = claimed()
    ingest(newer)
    ingest(older)
    job = job_row(older)
    assert (job.state, job.error_code, job.version.state) == ("failed", "no_text", "failed")
    assert (job.document.status, job.document.error_code) == ("ready", "")


def test_a_document_indexed_again_by_many_at_once_has_one_job(
    tenant: Namespace, work: Callable[[], int]
):
    document_id = submit(tenant).document_id
    work()
    receipts = at_once(8, lambda _: intake.resubmit(tenant.pk, document_id))
    assert len({receipt.job_id for receipt in receipts}) == 1
    assert work() == 1


def test_a_claim_on_a_deleted_document_comes_to_nothing(tenant: Namespace, api: Api):
    receipt = submit(tenant)
    claim = claimed()
    assert api.delete(f"documents/{receipt.document_id}").status == 200
    ingest(claim)
    assert queue.fail(claim, NoText("gone")) is False
    with namespace(tenant.pk):
        assert queue.cancel(claim.job_id) is False
    with operator():
        assert not IngestJob.objects.exists()


def test_a_job_carries_the_id_of_the_request_that_brought_it(api: Api):
    answer = api.call("POST", "ingest", {"documents": [{"content": "x"}]}, **{"X-Request-ID": "r1"})
    assert job_row(uuid.UUID(answer.body["results"][0]["job_id"])).request_id == "r1"
