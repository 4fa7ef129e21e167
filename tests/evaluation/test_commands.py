"""The commands: measuring with exit codes for CI, comparing, measuring under another profile."""

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from documents.models import Document, IndexProfile, Namespace
from evaluation.models import EvaluationRun, GoldenSet
from ragsite.database.tenancy import operator


def evaluate(tenant: Namespace, *options: str) -> tuple[dict[str, Any], int]:
    out, code = StringIO(), 0
    arguments = ["--golden-set=trade", f"--namespace={tenant.slug}", "--json", *options]
    try:
        call_command("evaluate", *arguments, stdout=out)
    except SystemExit as stop:
        code = int(stop.code or 0)
    return json.loads(out.getvalue()), code


def test_gates_decide_the_exit_code(golden_set: GoldenSet, tenant: Namespace):
    told, code = evaluate(tenant, "--label=base", "--fail-under=recall@10=0.9")
    assert (code, told["broken"], told["queries"]) == (0, [], 3)
    told, code = evaluate(tenant, "--fail-under=nDCG@10=1.01", "--fail-under=p95_ms=0.001")
    assert code == 2
    assert [line.split()[0] for line in told["broken"]] == ["ndcg@10", "p95"]
    assert evaluate(tenant, "--no-worse-than=base")[1] == 0


def test_a_run_that_falls_behind_another_is_told_and_tolerance_forgives(
    golden_set: GoldenSet, tenant: Namespace
):
    base, _ = evaluate(tenant, "--label=base")
    with operator():
        EvaluationRun.objects.get(pk=base["run"]).scores.update(
            metrics=dict.fromkeys(base["metrics"], 1.0)
        )
    options = ("--mode=lexical", "--max-per-document=1", "--no-worse-than=base")
    told, code = evaluate(tenant, *options)
    least = min(told["metrics"][name]["mean"] for name in ("ndcg@10", "mrr@10", "recall@10"))
    assert (code == 2) == (least < 1)
    assert evaluate(tenant, *options, "--tolerance=1")[1] == 0


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--golden-set=nothing"], "no golden set"),
        (["--fail-under=quality"], "MEASURE=NUMBER"),
        (["--fail-under=bleu@4=1"], "no measure"),
        (["--no-worse-than=nobody"], "no run"),
        (["--semantic-weight=3"], "semantic_weight"),
        (["--rerank=llm"], "not configured"),
        (["--profile=nothing"], "no index profile"),
        (["--namespace=nothing"], "nothing"),
    ],
)
def test_what_cannot_be_measured_is_told(
    options: list[str], why: str, golden_set: GoldenSet, tenant: Namespace
):
    with pytest.raises(CommandError, match=why):
        call_command("evaluate", "--golden-set=trade", f"--namespace={tenant.slug}", *options)


def test_a_comparison_names_what_changed_and_every_stage(golden_set: GoldenSet, tenant: Namespace):
    evaluate(tenant, "--label=words", "--mode=lexical")
    evaluate(tenant, "--label=vectors", "--mode=semantic")
    with operator():  # a loss, whatever the model thinks
        score = EvaluationRun.objects.get(label="vectors").scores.get(text__contains="mooring")
        score.metrics |= {"ndcg@10": 0.25}
        score.save()
    out = StringIO()
    call_command("compare_runs", "words", "vectors", stdout=out)
    told = out.getvalue()
    assert "what does a mooring cost?" in told
    assert "upload:harbour.md: A mooring costs twelve crowns a night" in told
    assert "vector – → 1" in told
    assert "lexical 1 →" in told
    out = StringIO()
    call_command("compare_runs", "words", "vectors", "--json", stdout=out)
    compared = json.loads(out.getvalue())
    assert "what does a mooring cost?" in [change["text"] for change in compared["losses"]]
    assert compared["measures"]["ndcg@10"]["gain"] < 0
    assert 0 < compared["measures"]["ndcg@10"]["p_value"] <= 1
    with pytest.raises(CommandError, match="no measure"):
        call_command("compare_runs", "words", "vectors", "--measure=bleu@4")


def test_another_profile_is_measured_on_a_copy_that_is_gone_afterwards(
    golden_set: GoldenSet, tenant: Namespace
):
    with operator():
        IndexProfile.objects.create(
            name="tiny",
            chunk_size=16,
            chunk_overlap=0,
            embedder="hashing",
            dimensions=256,
            ann_method="exact",
        )
    told, code = evaluate(tenant, "--profile=tiny")
    assert (code, told["configuration"]["profile"]["name"]) == (0, "tiny")
    assert told["metrics"]["recall@10"]["mean"] == 1
    with operator():
        assert not Namespace.objects.filter(slug__startswith="scratch-").exists()
        assert Document.objects.count() == 3
        run = EvaluationRun.objects.get(pk=told["run"])
        own = {str(pk) for pk in Document.objects.values_list("pk", flat=True)}
        assert {row["document_id"] for s in run.scores.all() for row in s.ranking} <= own
