"""document@3: an expected document among the first three results, as a measure and as a gate."""

from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command

from documents.models import Document, Namespace
from evaluation.golden.curating import add_query, judge
from evaluation.measures.metrics import DOCUMENT
from evaluation.models import EvaluationRun, GoldenSet
from evaluation.runs.gates import Floor
from evaluation.runs.options import RunOptions
from evaluation.runs.runner import measure_now
from ragsite.database.tenancy import namespace

from ..client import Api


def by_question(tenant: Namespace, run: EvaluationRun) -> dict[str, float]:
    with namespace(tenant.pk):
        return {score.text: score.metrics[DOCUMENT] for score in run.scores.all()}


def test_any_passage_of_an_expected_document_counts_also_where_a_span_is_judged(
    golden_set: GoldenSet, library: dict[str, Document], tenant: Namespace
):
    with namespace(tenant.pk):
        elsewhere = add_query(golden_set, "ash glaze that melts early")
        judge(elsewhere, library["kiln.md"], grade=3, quote="Heat the kiln to 1240 degrees")
        wrong = add_query(golden_set, "knead flour, water and salt")
        judge(wrong, library["bread.md"], grade=0)
        judge(wrong, library["kiln.md"], grade=1)
    run = measure_now(golden_set, RunOptions(k=1))  # no more results than one
    scores = by_question(tenant, run)
    assert scores["ash glaze that melts early"] == 1.0
    assert scores["knead flour, water and salt"] == 0.0  # bread is judged, and is not relevant
    assert run.metrics[DOCUMENT]["mean"] == pytest.approx(4 / 5)
    assert run.metrics[DOCUMENT]["queries"] == 5


def test_the_fourth_result_is_too_late(api: Api, tenant: Namespace, work: Any):
    fillers = ("granite quay", "baker oven loaf", "kiln ash glaze pot", "lamp oil tower rock night")
    texts = {f"{name.split()[0]}.md": f"Otters like a {name}." for name in fillers}
    api.upload(*texts.items())
    work()
    asked = [hit["document_id"] for hit in api.query("otters").body["results"]]
    assert len(asked) == 4
    with namespace(tenant.pk):
        documents = {str(document.pk): document for document in Document.objects.all()}
        golden = GoldenSet.objects.create(namespace=tenant, name="otters")
        for place, document_id in enumerate(asked):  # the same question, each with one of them
            judge(add_query(golden, f"otters{'?' * place}"), documents[document_id], grade=1)
    scores = by_question(tenant, measure_now(golden, RunOptions()))
    assert [scores[text] for text in sorted(scores, key=len)] == [1.0, 1.0, 1.0, 0.0]


def test_it_is_a_gate_with_an_exit_code(golden_set: GoldenSet, tenant: Namespace):
    def evaluate(floor: str) -> tuple[str, int]:
        out, err = StringIO(), StringIO()
        arguments = ["--golden-set=trade", f"--namespace={tenant.slug}", f"--fail-under={floor}"]
        try:
            call_command("evaluate", *arguments, stdout=out, stderr=err)
        except SystemExit as stop:
            return err.getvalue(), int(stop.code or 0)
        return out.getvalue(), 0

    told, code = evaluate("document@3=0.95")
    assert code == 0
    assert "document@3" in told
    told, code = evaluate("Document@3=1.5")
    assert (code, told.strip()) == (2, "document@3 is 1.0000, below 1.5")


def test_api_and_admin_show_it(golden_set: GoldenSet, api: Api, boss: Any):
    run = measure_now(golden_set, RunOptions())
    assert api.get(f"evaluations/{run.pk}").body["metrics"][DOCUMENT]["mean"] == 1.0
    page = boss.get(f"/admin/evaluation/evaluationrun/{run.pk}/change/").content.decode()
    assert f"<td>{DOCUMENT}</td><td>1.0000</td>" in page


def test_a_run_from_before_there_was_such_a_measure_says_so(golden_set: GoldenSet):
    run = measure_now(golden_set, RunOptions())
    run.metrics.pop(DOCUMENT)
    with pytest.raises(Exception, match="did not measure document@3"):
        Floor.parse("document@3=0.9").broken(run)
