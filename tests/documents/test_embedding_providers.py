"""Ingest with an embedding API behind it: resumed, refused, paced, counted and capped."""

import time
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.db.models.functions import Now

from documents.intake import intake
from documents.intake.intake import Submission
from documents.metering.embeddings import this_month, usage_in
from documents.metering.rate_limit import SharedRateLimiter
from documents.models import Chunk, Document, EmbeddingUsage, IndexProfile, IngestJob, Namespace
from documents.profiles.profiles import load_embedder
from ragsite.database.tenancy import namespace, operator

from ..client import Api
from ..embedding_server import Handler
from ..threads import at_once

SECTIONS = "\n\n".join(f"# Section {n}\n\nParagraph number{n} of the text." for n in range(7))
Behaving = Callable[..., Namespace]


def submit(tenant: Namespace, text: str = SECTIONS, **said: Any) -> None:
    content = ContentFile(text.encode())
    intake.accept(tenant.pk, Submission(content=content, file_name="a.md", **said))


def due() -> None:
    with operator():
        IngestJob.objects.filter(state="queued").update(run_after=Now())


def only(model: type) -> Any:
    with operator():
        return model.objects.get()


def count(model: type) -> int:
    with operator():
        return int(model.objects.count())


# -- failures ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("behaviour", "code"),
    [
        ("broken", "provider_unavailable"),
        ("always-busy", "provider_rate_limited"),
        ("hang", "provider_timeout"),
        ("cut", "provider_unavailable"),
        ("html", "provider_bad_response"),
        ("refused", "provider_refused"),
        ("wrong-dimension", "provider_bad_vector"),
        ("nan", "provider_bad_vector"),
        ("zero", "provider_bad_vector"),
        ("too-few", "provider_bad_vector"),
    ],
)
def test_a_provider_that_fails_publishes_nothing_and_is_named(
    behaving: Behaving, work: Callable[[], int], settings: Any, behaviour: str, code: str
):
    settings.JOB_MAX_ATTEMPTS = 1
    tenant = behaving(behaviour, deadline=1, timeout=0.5, retries=0)
    submit(tenant)
    work()
    job, document = only(IngestJob), only(Document)
    assert (job.state, job.error_code) == ("failed", code)
    assert (document.status, document.error_code) == ("failed", code)
    assert "secret" not in document.error_message
    assert count(Chunk) == 0


def test_after_a_failure_the_next_attempt_asks_only_for_what_is_missing(
    behaving: Behaving, work: Callable[[], int]
):
    submit(behaving("third-batch-fails"))
    work()
    job = only(IngestJob)
    assert (job.state, job.error_code, job.passages_done) == ("queued", "provider_refused", 4)
    paid = [text for request in Handler.seen[:2] for text in request["body"]["input"]]
    Handler.seen.clear()
    due()
    work()
    assert only(IngestJob).state == "succeeded"
    asked = {text for request in Handler.seen for text in request["body"]["input"]}
    assert len(asked) == 3  # one of them twice, if the first attempt's last batch came in late
    assert not asked & set(paid)


def test_the_same_texts_again_are_not_embedded_again(behaving: Behaving, work: Callable[[], int]):
    tenant = behaving("good")
    submit(tenant)
    work()
    Handler.seen.clear()
    submit(tenant, source_uri="elsewhere", on_duplicate="keep")
    work()
    assert count(Document) == 2
    assert Handler.seen == []
    with operator():
        newest = IngestJob.objects.first()
    assert newest is not None
    assert (newest.state, newest.embedding_tokens) == ("succeeded", 0)


def test_busy_for_a_second_is_waited_out_in_the_same_attempt(
    behaving: Behaving, work: Callable[[], int]
):
    submit(behaving("busy"))
    work()
    job = only(IngestJob)
    assert (job.state, job.attempts) == ("succeeded", 1)
    assert Handler.seen[1]["at"] - Handler.seen[0]["at"] >= 1


# -- the pace ------------------------------------------------------------------------


def soon(seconds: float = 5) -> float:
    return time.monotonic() + seconds


def test_callers_in_different_threads_share_one_pace(db: None):
    def take(number: int) -> float:
        pace = SharedRateLimiter("shared", requests_per_minute=600)  # one in 100 ms
        assert pace.wait(1, deadline=soon(), is_urgent=False)
        return time.monotonic()

    moments = sorted(at_once(5, take))
    assert moments[-1] - moments[0] >= 0.35


def test_tokens_count_too(db: None):
    pace = SharedRateLimiter("tokens", tokens_per_minute=60_000)
    started = time.monotonic()
    for _ in range(3):  # 200 tokens are 200 ms
        assert pace.wait(200, deadline=soon(), is_urgent=False)
    assert time.monotonic() - started >= 0.39


def test_who_cannot_begin_in_time_takes_no_turn(db: None):
    pace = SharedRateLimiter("slow", requests_per_minute=60)
    assert pace.wait(1, deadline=soon(), is_urgent=False)
    assert not pace.wait(1, deadline=soon(0.2), is_urgent=False)
    assert pace.wait(1, deadline=soon(1.5), is_urgent=False)  # and the turn is still free


def test_a_question_does_not_queue_behind_documents(db: None):
    pace = SharedRateLimiter("urgent", requests_per_minute=6)
    assert pace.wait(1, deadline=soon(), is_urgent=False)
    assert not pace.wait(1, deadline=soon(), is_urgent=False)
    assert pace.wait(1, deadline=soon(), is_urgent=True)


@pytest.mark.parametrize("is_urgent", [False, True])
def test_a_provider_that_wants_to_be_left_alone_is_by_everybody(db: None, is_urgent: bool):
    SharedRateLimiter("alone").back_off(30)
    assert not SharedRateLimiter("alone").wait(1, deadline=soon(10), is_urgent=is_urgent)
    assert SharedRateLimiter("another").wait(1, deadline=soon(10), is_urgent=is_urgent)


def test_after_the_time_it_wanted_a_provider_is_asked_again(db: None):
    SharedRateLimiter("alone").back_off(0.5)
    assert SharedRateLimiter("alone").wait(1, deadline=soon(30), is_urgent=False)


def test_an_embedder_gets_the_pace_of_its_alias(behaving: Behaving):
    behaving("good", requests_per_minute=300)
    embedder = load_embedder("remote")
    started = time.monotonic()
    list(embedder.embed_documents([f"text {n}" for n in range(6)]))  # three batches
    assert time.monotonic() - started >= 0.39


# -- tokens and money ------------------------------------------------------------------


def test_tokens_and_cost_are_kept_by_job_and_by_month(
    behaving: Behaving, work: Callable[[], int], api_of: Callable[..., Api]
):
    tenant = behaving("good", price=2.0)
    submit(tenant)
    work()
    job = only(IngestJob)
    assert job.embedding_tokens > 7
    assert job.embedding_cost == Decimal(job.embedding_tokens) * 2 / 1_000_000
    with namespace(tenant.pk):
        assert usage_in(tenant.pk, this_month()) == (job.embedding_tokens, job.embedding_cost)
    shown = api_of(tenant).get(f"jobs/{job.pk}").body
    assert shown["embedding_tokens"] == job.embedding_tokens
    assert Decimal(shown["embedding_cost"]) == job.embedding_cost
    submit(tenant, text="# More\n\nAnother text altogether.", source_uri="more")
    work()
    row = only(EmbeddingUsage)
    assert row.tokens > job.embedding_tokens


def test_usage_is_behind_the_tenant_wall(
    behaving: Behaving, work: Callable[[], int], other_tenant: Namespace
):
    submit(behaving("good"))
    work()
    with namespace(other_tenant.pk):
        assert not EmbeddingUsage.objects.exists()


@pytest.mark.parametrize("cap", ["job_tokens", "job_cost", "month_tokens", "month_cost"])
def test_a_job_over_a_cap_fails_before_anything_is_spent(
    behaving: Behaving, work: Callable[[], int], settings: Any, cap: str
):
    limit = 0.000_01 if cap.endswith("cost") else 10
    settings.EMBEDDING_CAPS = {**settings.EMBEDDING_CAPS, cap: limit}
    submit(behaving("good", price=2.0))
    work()
    job = only(IngestJob)
    assert (job.state, job.error_code, job.attempts) == ("failed", "cost_cap", 1)
    assert only(Document).error_code == "cost_cap"
    assert Handler.seen == []


def test_a_months_cap_adds_up_over_jobs_of_a_namespace_and_no_other(
    behaving: Behaving, work: Callable[[], int], settings: Any
):
    first, second = behaving("good"), behaving("good")
    submit(first)
    work()
    spent = only(IngestJob).embedding_tokens
    settings.EMBEDDING_CAPS = {**settings.EMBEDDING_CAPS, "month_tokens": spent + 20}
    submit(first, text=SECTIONS.replace("number", "figure"), source_uri="b")
    submit(second)
    work()
    with operator():
        states = dict(IngestJob.objects.values_list("namespace_id", "error_code"))
        of_first = IngestJob.objects.filter(namespace_id=first.pk).latest("created_at")
    assert of_first.error_code == "cost_cap"
    assert states[second.pk] == ""


def test_sentences_embedded_to_find_turns_of_meaning_are_counted(
    behaving: Behaving, work: Callable[[], int]
):
    tenant = behaving("good")
    with operator():
        IndexProfile.objects.filter(name="remote").update(chunker="semantic", chunk_overlap=0)
    text = "Boats leave at dawn. The lamp turns slowly. Bread is baked at night. " * 8
    submit(tenant, text=f"# One\n\n{text}")
    work()
    job = only(IngestJob)
    asked = sum(len(request["body"]["input"]) for request in Handler.seen)
    assert job.state == "succeeded"
    assert asked > count(Chunk)
    assert job.embedding_tokens > 24 * 4
