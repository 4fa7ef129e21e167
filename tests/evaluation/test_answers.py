"""answer@context: whether the judged text is in the context, from scoring to every report."""

import json
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from documents.models import Document, Namespace
from evaluation.errors import BadGoldenSet
from evaluation.experiments.ablation import ablate_retrieval
from evaluation.golden.curating import add_query, judge
from evaluation.golden.exporting import questions_of
from evaluation.golden.formats import read_csv, read_jsonl, write_csv, write_jsonl
from evaluation.golden.importing import import_questions
from evaluation.measures.answers import answer_in_context
from evaluation.measures.matching import Judged
from evaluation.measures.metrics import ANSWER
from evaluation.models import EvaluationRun, GoldenSet, Judgement
from evaluation.reports.ablation import outcome_section
from evaluation.reports.files import write_report
from evaluation.runs.comparison import compare
from evaluation.runs.options import RunOptions
from evaluation.runs.runner import measure_now
from ragsite.database.tenancy import namespace

from ..client import Api


def judged(quote: str, grade: int = 1, part: int = 0) -> Judged:
    return Judged(quote, "doc", grade, 0, 1, quote=quote, part=part)


def test_one_of_the_best_graded_texts_must_be_there_whatever_the_white_space():
    texts = [judged("at least\n  7 weeks", 3), judged("or 49 days", 3), judged("abroad", 1)]
    assert answer_in_context("ask at least 7\tweeks ahead", texts) == 1
    assert answer_in_context("ask 7 weeks or 49 days ahead", texts) == 1
    assert answer_in_context("going abroad", texts) == 0
    assert answer_in_context("", texts) == 0


def test_every_part_of_the_answer_must_be_there():
    texts = [judged("60%", part=1), judged("18 hours", 2, part=2), judged("18 h", 2, part=2)]
    assert answer_in_context("60% or 18 h", texts) == 1
    assert answer_in_context("60% of it", texts) == 0
    assert answer_in_context("18 hours", texts) == 0


def test_there_is_no_figure_where_no_text_is_judged_relevant():
    assert answer_in_context("anything", [Judged("a", "doc", 3)]) is None
    assert answer_in_context("anything", [judged("wrong", 0), Judged("a", "doc", 3)]) is None


def test_a_run_has_it_for_each_query_with_judged_text_and_its_mean(golden_set: GoldenSet):
    run = measure_now(golden_set, RunOptions())
    assert run.metrics[ANSWER] == {"mean": 1.0, "low": 1.0, "high": 1.0, "queries": 2}
    with namespace(golden_set.namespace_id):
        scores = {s.text[:8]: s.metrics.get(ANSWER) for s in run.scores.all()}
    assert scores == {"how many": 1.0, "what doe": 1.0, "how hot ": None}


def test_what_the_budget_leaves_out_of_the_context_is_not_answered(
    golden_set: GoldenSet, library: dict[str, Document]
):
    with namespace(golden_set.namespace_id):
        query = add_query(golden_set, "harbour lights, and the heat of the kiln")
        judge(query, library["harbour.md"], grade=3, quote="twelve lights", part=1)
        judge(query, library["kiln.md"], grade=3, quote="1240 degrees", part=2)
    roomy = measure_now(golden_set, RunOptions())
    tight = measure_now(golden_set, RunOptions(token_budget=40))
    assert roomy.metrics[ANSWER]["mean"] == 1
    assert tight.metrics[ANSWER]["mean"] < 1
    assert tight.tokens["mean"] <= 40 < roomy.tokens["mean"]
    assert tight.metrics["recall@10"] == roomy.metrics["recall@10"]  # of the ranking, not of it
    with namespace(golden_set.namespace_id):
        comparison = compare(roomy, tight, measure=ANSWER)
    assert comparison.measures[ANSWER]["gain"] < 0
    assert "harbour lights, and the heat of the kiln" in [c.text for c in comparison.losses]
    assert len(comparison.wins) + len(comparison.losses) + comparison.ties == 3


def evaluate(tenant: Namespace, *options: str) -> tuple[str, str, int]:
    out, err, code = StringIO(), StringIO(), 0
    try:
        call_command(
            "evaluate",
            "--golden-set=trade",
            f"--namespace={tenant.slug}",
            *options,
            stdout=out,
            stderr=err,
        )
    except SystemExit as stop:
        code = int(stop.code or 0)
    return out.getvalue(), err.getvalue(), code


def test_the_command_prints_it_with_the_tokens_spent_and_gates_on_it(
    golden_set: GoldenSet, tenant: Namespace
):
    out, _, code = evaluate(tenant, "--fail-under=answer@context=0.9")
    assert code == 0
    rows = [line.split("|")[1].strip() for line in out.splitlines() if line.startswith("| ")]
    assert rows[:3] == ["measure", "ndcg@10", "answer@context"]
    assert "Answer in context: 100.0% of 2 queries (1 judged by document alone" in out
    assert "tokens on average." in out
    _, err, code = evaluate(tenant, "--token-budget=1", "--fail-under=answer@context=0.9")
    assert code == 2
    assert "answer@context is 0.0000, below 0.9" in err


def test_a_gate_on_it_says_so_where_no_text_is_judged(
    tenant: Namespace, library: dict[str, Document]
):
    with namespace(tenant.pk):
        golden = GoldenSet.objects.create(namespace=tenant, name="trade")
        judge(add_query(golden, "how hot?"), library["kiln.md"], grade=2)
    out, _, _ = evaluate(tenant)
    assert "answer@context" not in out
    with pytest.raises(CommandError, match="No query has judged text"):
        evaluate(tenant, "--fail-under=answer@context=0.9")


def test_a_run_that_answers_less_than_an_earlier_one_breaks_its_gate(
    golden_set: GoldenSet, tenant: Namespace
):
    evaluate(tenant, "--label=main")
    _, err, code = evaluate(tenant, "--token-budget=1", "--no-worse-than=main")
    assert code == 2
    assert "answer@context fell from 1.0000 to 0.0000" in err


def test_reports_charts_and_ablations_show_it(golden_set: GoldenSet, tmp_path: Path, settings: Any):
    settings.RERANKERS = {}
    run = measure_now(golden_set, RunOptions())
    with namespace(golden_set.namespace_id):
        page = write_report(run, tmp_path).read_text()
    assert "<td>answer@context</td><td>1.0000</td>" in page
    assert "<th>answer@context</th>" in page
    outcomes = ablate_retrieval(golden_set, [], started=lambda name: lambda done, total: None)
    _, head, rows = outcome_section("Retrieval", outcomes)
    assert rows[0][list(head).index(ANSWER)] == "1.0000"


def test_a_run_from_before_the_measure_is_still_shown_and_compared(
    golden_set: GoldenSet, tmp_path: Path
):
    old = measure_now(golden_set, RunOptions())
    with namespace(golden_set.namespace_id):
        old.metrics.pop(ANSWER)
        old.save()
        for score in old.scores.all():
            score.metrics.pop(ANSWER, None)
            score.save()
    new = measure_now(golden_set, RunOptions())
    with namespace(golden_set.namespace_id):
        comparison = compare(EvaluationRun.objects.get(pk=old.pk), new)
        assert write_report(old, tmp_path, comparison=comparison).exists()
    assert ANSWER not in comparison.measures
    assert comparison.warnings == []


def test_the_api_takes_parts_and_a_budget_and_answers_with_the_measure(
    golden_set: GoldenSet, api: Api, library: dict[str, Document], work: Callable[[], int]
):
    body = {
        "query": "lights and fees",
        "judgements": [
            {"source_uri": "upload:harbour.md", "quote": "twelve lights", "part": 1},
            {"source_uri": "upload:harbour.md", "quote": "twelve crowns", "part": 2},
        ],
    }
    made = api.post(f"golden-sets/{golden_set.pk}/queries", body)
    assert made.status == 201
    assert {j["part"] for j in made.body["judgements"]} == {1, 2}
    run = measure_now(golden_set, RunOptions(token_budget=500))
    shown = api.get(f"evaluations/{run.pk}").body
    assert shown["metrics"][ANSWER] == {"mean": 1.0, "low": 1.0, "high": 1.0, "queries": 3}
    assert "queries" not in shown["metrics"]["ndcg@10"]
    assert shown["options"]["token_budget"] == 500


# -- questions that quote their documents -----------------------------------------------------

LINES = [
    {
        "id": "q1",
        "doc": "harbour.md",
        "type": "prose",
        "question": "How many lights?",
        "answer": "twelve",
        "quote": "twelve lights on\n granite towers",
        "also": ["The harbour has twelve"],
    },
    {
        "id": "q2",
        "doc": "kiln.md",
        "type": "multi",
        "question": "How hot, and which glaze runs?",
        "quotes": ["1240 degrees", ["Ash glaze melts", "runs down the pot"]],
    },
]


def test_questions_with_quotes_come_in_by_the_names_of_their_files(
    library: dict[str, Document], tenant: Namespace, rows: Callable[..., list[Any]]
):
    questions = read_jsonl(json.dumps(line) for line in LINES)
    report = import_questions(tenant.pk, "answers", questions)
    assert (report.queries, report.judgements, report.missing, report.refused) == (2, 5, 0, [])
    judgements = rows(tenant, Judgement, query__external_id="q2")
    assert {(j.source_uri, j.quote, j.part) for j in judgements} == {
        ("upload:kiln.md", "1240 degrees", 1),
        ("upload:kiln.md", "Ash glaze melts", 2),
        ("upload:kiln.md", "runs down the pot", 2),
    }
    alternatives = rows(tenant, Judgement, query__external_id="q1")
    assert {(j.quote, j.part) for j in alternatives} == {
        ("twelve lights on granite towers", 0),
        ("The harbour has twelve", 0),
    }
    with namespace(tenant.pk):
        (query, _) = report.golden_set.queries.all()
        assert (query.tags, query.notes) == (["prose"], "twelve")
        before = questions_of(report.golden_set)
    assert read_jsonl("".join(write_jsonl(before)).splitlines()) == before
    assert read_csv(write_csv(before)) == before
    run = measure_now(report.golden_set, RunOptions())
    assert run.metrics[ANSWER]["queries"] == 2


def test_a_quote_that_is_not_there_and_a_file_that_is_not_here_are_refused(
    library: dict[str, Document], tenant: Namespace
):
    lines = [
        {"doc": "kiln.md", "question": "one?", "quote": "no such words"},
        {"doc": "nowhere.md", "question": "two?", "quote": "1240 degrees"},
    ]
    report = import_questions(tenant.pk, "answers", read_jsonl(map(json.dumps, lines)))
    assert [line.split(":")[0] for line in report.refused] == [
        "not in upload",
        "nowhere.md does not exist, so its quotation cannot be located",
    ]
    assert (report.judgements, report.missing) == (0, 1)


def test_a_name_that_two_documents_have_is_refused(
    api: Api, tenant: Namespace, library: dict[str, Document], work: Callable[[], int]
):
    api.upload(("kiln.md", "Another kiln, 900 degrees."), source_uri="wiki:kiln")
    work()
    questions = read_jsonl([json.dumps({"doc": "kiln.md", "question": "?", "quote": "900"})])
    with pytest.raises(BadGoldenSet, match=r"2 documents are called 'kiln\.md'"):
        import_questions(tenant.pk, "answers", questions)


@pytest.mark.parametrize(
    "wrong",
    [
        {"quotes": ["a"], "also": ["b"]},
        {"quotes": ["a"], "quote": "b"},
        {"quotes": "a"},
        {"quotes": [1]},
        {"also": [""], "quote": "a"},
    ],
)
def test_quotes_that_are_not_clear_are_named_with_their_line(wrong: dict[str, Any]):
    with pytest.raises(BadGoldenSet, match="Line 1"):
        read_jsonl([json.dumps({"doc": "a.md", "question": "?", **wrong})])
