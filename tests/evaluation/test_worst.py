"""What a run says about its own weak spots: the worst questions, and bounds on recall."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from documents.models import Document, Namespace
from evaluation.golden.curating import add_query, judge
from evaluation.models import GoldenSet, QueryScore
from evaluation.runs.options import RunOptions
from evaluation.runs.runner import measure_now, summarise
from evaluation.runs.worst import worst_questions
from ragsite.database.tenancy import namespace

from .test_commands import evaluate


@pytest.fixture
def misjudged(golden_set: GoldenSet, tenant: Namespace, library: dict[str, Document]) -> GoldenSet:
    """A question whose answer is said to be where it cannot be found."""
    with namespace(tenant.pk):
        wrong = next(document for document in library.values() if "kiln" in document.source_uri)
        query = add_query(golden_set, "how many lights are there in the harbour?")
        judge(query, wrong, grade=2)
    return golden_set


def test_the_worst_questions_are_named_with_what_came_instead(
    misjudged: GoldenSet, tenant: Namespace
):
    run = measure_now(misjudged, RunOptions())
    with namespace(tenant.pk):
        (worst, *others) = worst_questions(run, limit=5)
        assert worst_questions(run, limit=0) == []
    assert worst.text == "how many lights are there in the harbour?"
    assert all(worst.score <= other.score < 1 for other in others)
    assert "kiln" in worst.expected[0]
    assert "harbour" in worst.instead[0]


def test_the_command_prints_them(misjudged: GoldenSet, tenant: Namespace):
    out = StringIO()
    call_command("evaluate", "--golden-set=trade", f"--namespace={tenant.slug}", stdout=out)
    printed = out.getvalue()
    assert "The worst questions, by ndcg@10:" in printed
    assert "expected upload:kiln" in printed
    assert "came     upload:harbour" in printed
    told, _ = evaluate(tenant, "--worst=1")
    assert [question["text"] for question in told["worst"]] == [
        "how many lights are there in the harbour?"
    ]


def test_recall_says_what_bounds_it(golden_set: GoldenSet, tenant: Namespace):
    def bounds(**options: int) -> list[str]:
        return [
            w for w in measure_now(golden_set, RunOptions(**options)).warnings if "bounded" in w
        ]

    assert bounds() == []
    assert bounds(depth=20) == ["recall@50 and recall@100: bounded by the depth of 20."]
    assert bounds(depth=60) == ["recall@100: bounded by the depth of 60."]


def test_runs_of_one_label_are_told_apart_by_their_namespace(
    golden_set: GoldenSet, tenant: Namespace, other_tenant: Namespace
):
    evaluate(tenant, "--label=a")
    evaluate(tenant, "--label=b")
    out = StringIO()
    call_command("compare_runs", "a", "b", "--namespace=tenant", stdout=out)
    assert "By ndcg@10" in out.getvalue()
    with pytest.raises(CommandError, match="no run 'a'"):
        call_command("compare_runs", "a", "b", "--namespace=other")
    with pytest.raises(CommandError, match="no namespace 'nobody'"):
        call_command("compare_runs", "a", "b", "--namespace=nobody")


def test_recall_says_where_the_cap_on_a_document_bounds_it():
    def warned(fate: str, rank: int | None) -> bool:
        judged = [{"judgement": "j", "grade": 2, "rank": rank, "ranks": {}, "fate": fate}]
        scores = [QueryScore(text="q", metrics={"recall@50": 0.5}, judged=judged)]
        return any("max_per_document" in line for line in summarise(scores, [])["warnings"])

    assert warned("max_per_document", None)
    assert not warned("beyond_k", None)
    assert not warned("", 3)
