"""Runs: measured, stored, resumed, stopped; judgements that outlive chunks and versions."""

import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import DatabaseError, transaction
from django.utils import timezone

from documents.ingestion import removal
from documents.intake import intake
from documents.models import Document, IndexProfile, Namespace
from evaluation import tasks
from evaluation.errors import BadGoldenSet, NothingToMeasure
from evaluation.golden.curating import add_query, judge
from evaluation.models import EvaluationRun, GoldenSet, Judgement, QueryScore
from evaluation.runs import lifecycle
from evaluation.runs.options import RunOptions
from evaluation.runs.runner import evaluate, measure_now
from ragsite.database.tenancy import namespace, operator
from retrieval.cache import results

from ..client import Api


def run_of(golden: GoldenSet, **options: Any) -> EvaluationRun:
    return measure_now(golden, RunOptions(**options))


def test_a_run_measures_every_query_and_keeps_what_decided_it(
    golden_set: GoldenSet, tenant: Namespace, rows: Callable[..., list[Any]]
):
    run = run_of(golden_set)
    assert (run.state, run.error_message) == ("succeeded", "")
    assert (run.queries_done, run.queries_total, run.warnings) == (3, 3, [])
    assert run.metrics["recall@10"] == {"mean": 1.0, "low": 1.0, "high": 1.0}
    assert 0 < run.metrics["ndcg@10"]["low"] <= run.metrics["ndcg@10"]["mean"] <= 1
    assert run.latency_ms["total"]["p95"] > 0
    assert {"embed", "lexical", "vector"} <= set(run.latency_ms)
    assert run.tokens["total"] > 0
    assert run.code_version
    assert run.configuration["options"]["mode"] == "hybrid"
    assert run.configuration["profile"]["chunk_size"] == 60
    assert run.configuration["content"]["documents"] == 3
    scores = rows(tenant, QueryScore, run=run)
    assert len(scores) == 3
    (fee,) = [score for score in scores if "mooring" in score.text]
    (relevant,) = [judged for judged in fee.judged if judged["grade"] == 3]
    assert relevant["rank"] == 1
    assert relevant["ranks"]["lexical"] == 1
    assert fee.ranking[0]["grade"] == 3
    assert set(fee.ranking[0]["ranks"]) == {"vector", "lexical", "fused", "rerank"}
    assert "twelve crowns" not in str(fee.ranking)  # figures, no text


def test_a_run_is_never_answered_from_a_cache(golden_set: GoldenSet, monkeypatch: Any):
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("asked a cache")

    first = run_of(golden_set)
    monkeypatch.setattr(results.CacheStore, "get", refuse)
    with results.bypassed():
        assert results.get_or_compute("results", "k", 60, lambda: 1) == (1, "miss")
    with pytest.raises(AssertionError, match="cache"):
        results.get_or_compute("results", "k", 60, lambda: 1)
    assert first.state == "succeeded"


def test_judgements_hold_whatever_becomes_of_the_chunks(
    golden_set: GoldenSet, tenant: Namespace, work: Callable[[], int]
):
    before = run_of(golden_set)
    with operator():
        tiny = IndexProfile.objects.create(
            name="tiny",
            chunk_size=16,
            chunk_overlap=0,
            embedder="hashing",
            dimensions=256,
            ann_method="exact",
        )
        Namespace.objects.filter(pk=tenant.pk).update(active_profile=tiny)
    with namespace(tenant.pk):
        documents = list(Document.objects.values_list("pk", flat=True))
    for pk in documents:
        intake.resubmit(tenant.pk, pk)
    assert work() == 3
    after = run_of(golden_set)
    assert after.configuration["profile"]["name"] == "tiny"
    assert after.configuration["content"]["chunks"] >= before.configuration["content"]["chunks"]
    assert after.warnings == []
    assert after.metrics["recall@10"]["mean"] == 1.0


def test_a_new_version_that_moves_the_text_keeps_the_judgement_and_one_that_drops_it_says_so(
    golden_set: GoldenSet, api: Api, work: Callable[[], int]
):
    api.upload(
        (
            "harbour.md",
            "# Harbour\n\n## News\n\nA long new beginning moves all that follows.\n\n## Lights\n\n"
            "The harbour has twelve lights on granite towers.\n",
        )
    )
    work()
    run = run_of(golden_set)
    assert run.warnings == ["No longer in their documents, counted as not found: 1 judged text."]
    with namespace(golden_set.namespace_id):
        recall = {s.text[:8]: s.metrics["recall@10"] for s in run.scores.all()}
    assert recall == {"how many": 1.0, "what doe": 0.0, "how hot ": 1.0}


def test_a_deleted_document_takes_its_judgements_and_a_deleted_set_its_runs(
    golden_set: GoldenSet,
    library: dict[str, Document],
    tenant: Namespace,
    rows: Callable[..., list[Any]],
):
    run = run_of(golden_set)
    removal.remove(tenant.pk, library["harbour.md"].pk)
    assert {j.source_uri for j in rows(tenant, Judgement)} == {"upload:bread.md", "upload:kiln.md"}
    with namespace(tenant.pk):
        golden_set.queries.all().delete()
    assert {score.query_id for score in rows(tenant, QueryScore, run=run)} == {None}
    with namespace(tenant.pk):
        golden_set.delete()
    assert rows(tenant, EvaluationRun) == rows(tenant, QueryScore) == rows(tenant, Judgement) == []


def test_a_set_without_a_relevant_judgement_is_refused(
    tenant: Namespace, library: dict[str, Document]
):
    with namespace(tenant.pk):
        golden = GoldenSet.objects.create(namespace=tenant, name="empty")
        query = add_query(golden, "why?")
        judge(query, library["kiln.md"], grade=0)
        with pytest.raises(NothingToMeasure):
            lifecycle.create(golden, RunOptions(), queue=False)


def test_a_judgement_on_the_same_place_is_replaced_and_nonsense_refused(
    golden_set: GoldenSet, tenant: Namespace, library: dict[str, Document]
):
    kiln = library["kiln.md"]
    with namespace(tenant.pk):
        query = golden_set.queries.get(text__startswith="how hot")
        first = judge(query, kiln, grade=1)
        assert judge(query, kiln, grade=3).pk == first.pk
        judge(query, kiln, grade=2, span=(20, 40))
        assert query.judgements.count() == 2
        for wrong in ({"grade": 11}, {"grade": 1, "is_hard_negative": True}):
            with pytest.raises(BadGoldenSet):
                judge(query, kiln, **wrong)
        for nowhere in ({"span": (5, 100_000)}, {"span": (9, 9)}, {"quote": "no such words"}):
            with pytest.raises(BadGoldenSet):
                judge(query, kiln, grade=1, **nowhere)


def test_links_cannot_cross_namespaces(
    golden_set: GoldenSet, other_tenant: Namespace, library: dict[str, Document]
):
    with operator():
        query = golden_set.queries.first()
        assert query
        with pytest.raises(DatabaseError, match="same_namespace"), transaction.atomic("operator"):
            Judgement.objects.create(namespace=other_tenant, query=query, source_uri="x")


def test_a_worker_does_what_waits_and_another_goes_on_where_one_died(
    golden_set: GoldenSet, tenant: Namespace, rows: Callable[..., list[Any]]
):
    with namespace(tenant.pk):
        run = lifecycle.create(golden_set, RunOptions())
    claim = lifecycle.claim(run.pk, tenant.pk)
    assert claim
    assert lifecycle.claim(run.pk, tenant.pk) is None  # it is taken

    class Died(BaseException):
        pass

    def die(done: int, total: int) -> None:
        if done == 2:
            raise Died

    with pytest.raises(Died):
        evaluate(claim, progress=die)
    assert len(rows(tenant, QueryScore)) == 2
    with operator():
        EvaluationRun.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    tasks.run_next_evaluation()
    (run,) = rows(tenant, EvaluationRun)
    assert (run.state, run.attempts, run.queries_done) == ("succeeded", 2, 3)
    assert len(rows(tenant, QueryScore)) == 3
    assert lifecycle.claim_next() is None


def test_a_run_whose_worker_always_dies_is_given_up(golden_set: GoldenSet, tenant: Namespace):
    with namespace(tenant.pk):
        run = lifecycle.create(golden_set, RunOptions())
    for _ in range(3):
        assert lifecycle.claim(run.pk, tenant.pk)
        with operator():
            EvaluationRun.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    assert lifecycle.claim_next() is None
    with namespace(tenant.pk):
        run.refresh_from_db()
    assert (run.state, run.error_code) == ("failed", "attempts_exhausted")


def test_a_cancelled_run_stops_at_its_next_query(golden_set: GoldenSet, tenant: Namespace):
    with namespace(tenant.pk):
        run = lifecycle.create(golden_set, RunOptions(), queue=False)
    claim = lifecycle.claim(run.pk, tenant.pk)
    assert claim

    def cancel(done: int, total: int) -> None:
        with namespace(tenant.pk):
            lifecycle.cancel(run.pk)

    evaluate(claim, progress=cancel)
    with namespace(tenant.pk):
        run.refresh_from_db()
        assert run.state == "cancelled"
        assert run.scores.count() == 1
        assert lifecycle.cancel(uuid.uuid4()) is False
