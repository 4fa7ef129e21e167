"""Why a job waits: one sentence for each thing that can hold it up."""

import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db.models.functions import Now
from django.utils import timezone

from documents.jobs import heartbeat, queue
from documents.jobs.waiting import Reason, why_waiting
from documents.models import IngestJob, Namespace, ProviderPace
from ragsite.database.tenancy import namespace, operator

from ..client import Api


@pytest.fixture
def alive(db: None) -> None:
    heartbeat.beat("a-worker")


def reasons_of(*job_ids: Any) -> dict[str, list[Reason]]:
    with operator():
        jobs = list(IngestJob.objects.all())
        found = why_waiting(jobs)
    return {str(pk): reasons for pk, reasons in found.items()}


def only(reasons: dict[str, list[Reason]]) -> list[Reason]:
    (mine,) = reasons.values()
    return mine


def queued(api: Api, *names: str) -> list[str]:
    answer = api.upload(*[(name, f"# {name}\n\nText of {name}.") for name in names])
    return [result["job_id"] for result in answer.body["results"]]


@pytest.mark.usefixtures("alive")
def test_its_place_among_the_jobs_of_its_namespace(
    api: Api, api_of: Callable[..., Api], other_tenant: Namespace
):
    first = queued(api, "a.md")[0]
    second = queued(api, "b.md")[0]
    theirs = queued(api_of(other_tenant), "c.md")[0]
    found = reasons_of()
    assert [reason.code for reason in found[first]] == ["position"]
    assert found[first][0].sentence.startswith("It is next in its namespace; 1 other namespace")
    assert found[second][0].sentence.startswith("1 job of its namespace comes first;")
    assert found[theirs][0].sentence.startswith("It is next in its namespace;")


@pytest.mark.usefixtures("alive")
def test_the_running_jobs_of_its_namespace_and_of_others(
    api: Api, api_of: Callable[..., Api], other_tenant: Namespace
):
    queued(api, "a.md", "b.md")
    claim = queue.claim("busy-worker")
    assert claim is not None
    found = reasons_of()
    running = found.pop(str(claim.job_id))
    assert running[0].code == "running"
    assert running[0].sentence.startswith("busy-worker works on it; its lease runs for")
    assert "1 of its namespace is running" in only(found)[0].sentence
    theirs = queued(api_of(other_tenant), "c.md")[0]
    sentence = reasons_of()[theirs][0].sentence
    assert "the workers are busy with 1 job of other namespaces" in sentence


def test_no_worker_at_all(api: Api):
    queued(api, "a.md")
    reasons = only(reasons_of())
    assert [reason.code for reason in reasons] == ["no_worker", "position"]
    assert "No worker has reported yet" in reasons[0].sentence


@pytest.mark.usefixtures("alive")
def test_a_failed_attempt_is_tried_again_later(api: Api, tenant: Namespace):
    (job_id,) = queued(api, "a.md")
    with namespace(tenant.pk):
        IngestJob.objects.filter(pk=job_id).update(
            attempts=1,
            run_after=Now() + timedelta(minutes=5),
            error_message="The embedder is out of order.",
        )
    (reason,) = only(reasons_of())
    assert reason.code == "retry"
    assert reason.sentence == (
        "It is tried again in 5 min, after attempt 1 of 3 failed: The embedder is out of order."
    )


@pytest.mark.usefixtures("alive")
def test_a_lease_that_has_run_out(api: Api, tenant: Namespace):
    queued(api, "a.md")
    claim = queue.claim("dead-worker")
    assert claim is not None
    with namespace(tenant.pk):
        IngestJob.objects.filter(pk=claim.job_id).update(lease_until=Now() - timedelta(seconds=1))
    (reason,) = only(reasons_of())
    assert reason.code == "lease_over"
    assert reason.sentence.startswith("dead-worker has not reported")


@pytest.mark.usefixtures("alive")
def test_a_provider_that_asked_for_a_pause(api: Api):
    queued(api, "a.md")
    later = timezone.now() + timedelta(minutes=10)
    with operator():
        ProviderPace.objects.create(provider="other", next_at=later, blocked_until=later)
        assert "provider_pause" not in [reason.code for reason in only(reasons_of())]
        ProviderPace.objects.create(provider="hashing", next_at=later, blocked_until=later)
    reason = only(reasons_of())[-1]
    assert reason.code == "provider_pause"
    assert "'hashing' asked for a pause" in reason.sentence


@pytest.mark.usefixtures("alive")
def test_a_namespace_that_is_being_deleted(api: Api, tenant: Namespace):
    queued(api, "a.md")
    with operator():
        Namespace.objects.filter(pk=tenant.pk).update(deleting_since=Now())
    assert only(reasons_of())[0].code == "namespace_deleted"


def test_jobs_that_have_ended_wait_for_nothing(api: Api, work: Callable[[], int]):
    queued(api, "a.md")
    work()
    assert reasons_of() == {}


@pytest.mark.usefixtures("alive")
def test_a_page_of_jobs_costs_no_more_statements_than_one(api: Api, django_assert_num_queries: Any):
    queued(api, *[f"{uuid.uuid4().hex}.md" for _ in range(12)])
    with operator():
        jobs = list(IngestJob.objects.all())
        with django_assert_num_queries(5, using="operator"):
            few = why_waiting(jobs[:1])
        with django_assert_num_queries(5, using="operator"):
            many = why_waiting(jobs)
    assert (len(few), len(many)) == (1, 12)
