"""Relevance: comparable between questions, low where nothing answers, and a filter on it."""

import uuid
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

import documents
from documents.models import Namespace
from retrieval.candidates.bm25 import Term
from retrieval.ranking import relevance
from retrieval.requests import Candidate

from ..client import Api

SAMPLES = Path(documents.__file__).parent / "samples"
BUNDLED = "sentence-transformers/all-MiniLM-L6-v2@c9745ed1d9f2/384/normalized"
OTHER = "openai/text-embedding-3-small/1536/normalized"
TERM = Term(("lamp",), (1,), 3, 2.0)


def candidate(cosine: float | None, bm25: float | None) -> Candidate:
    return Candidate(uuid.uuid4(), uuid.uuid4(), similarity=cosine, lexical=bm25)


def judged(*candidates: Candidate, model: str = BUNDLED, **options: Any) -> list[float | None]:
    options = {"terms": (TERM,), **options}
    relevance.judge(candidates, model_identity=model, **options)
    return [each.relevance for each in candidates]


def test_never_lower_for_more_similarity_or_more_words():
    steps = [n / 20 for n in range(25)]
    for fixed in (None, *steps):
        for pairs in ([(step, fixed) for step in steps], [(fixed, step) for step in steps]):
            logits = [relevance.logit(*pair) for pair in pairs]
            known = [value for value in logits if value is not None]
            assert known == sorted(known)


def test_one_of_both_is_evidence_enough():
    assert judged(candidate(0.75, 0.0))[0] > 0.5
    assert judged(candidate(0.1, 2.4))[0] > 0.5
    assert judged(candidate(0.1, 0.2))[0] < 0.05


def test_a_passage_far_behind_the_best_is_judged_down():
    alone = judged(candidate(0.4, 1.2))[0]
    best, behind = judged(candidate(0.7, 2.0), candidate(0.4, 1.2))
    assert behind < alone < best


def test_cosines_of_another_model_are_not_believed():
    assert relevance.is_calibrated(BUNDLED)
    for model in (OTHER, "", "onnx/bge-small@1/384/normalized"):
        assert not relevance.is_calibrated(model)
    near, wordy = judged(candidate(0.9, 0.0), candidate(0.1, 2.4), model=OTHER)
    assert near < 0.01 < 0.5 < wordy


def test_nothing_to_judge_by_is_none_and_says_that_the_filter_is_ignored():
    mine = candidate(0.9, None)
    notes = relevance.judge([mine], terms=(), model_identity=OTHER, min_relevance=0.5)
    assert mine.relevance is None
    assert [note.partition(":")[0] for note in notes] == ["min_relevance_ignored"]
    assert relevance.best_of([mine]) is None
    assert relevance.best_of([]) == 0.0


@pytest.fixture
def samples(api_of: Callable[..., Api], real_tenant: Namespace, work: Callable[[], int]) -> Api:
    api = api_of(real_tenant)
    api.upload(*((path.name, path.read_text()) for path in sorted(SAMPLES.iterdir())))
    work()
    return api


def codes(body: Any) -> list[str]:
    return [note.partition(":")[0] for note in body["diagnostics"]["notes"]]


def test_questions_over_the_samples(samples: Api):
    for question in (
        "How long is the warranty on a lamp?",
        "How many days of paid holiday do I get per year?",
        "When are salaries paid?",
        "warranty",
    ):
        for mode in ("hybrid", "semantic", "lexical"):
            body = samples.query(question, mode=mode).body
            assert body["relevance"] >= 0.5, (question, mode)
            assert body["relevance"] == max(hit["relevance"] for hit in body["results"])
            assert all(0 <= hit["relevance"] <= 1 for hit in body["results"])
            assert codes(body) == []
    for question in ("flurb quandle zoot", "xyzzy plugh"):
        body = samples.query(question).body
        assert body["relevance"] < 0.2
        assert "nothing_near" in codes(body)
    for question in ("How do I file taxes in Peru?", "Who won the 1998 football world cup?"):
        for mode in ("hybrid", "semantic", "lexical"):
            assert samples.query(question, mode=mode).body["relevance"] < 0.3, (question, mode)


@pytest.mark.parametrize("mode", ["hybrid", "lexical"])
def test_a_typo_finds_the_same_first_passage(samples: Api, mode: str):
    for typo, right in (
        ("webhook endpionts account", "webhook endpoints account"),
        ("How long is the warrenty on a lamp?", "How long is the warranty on a lamp?"),
        ("expence claim deadline", "expense claim deadline"),
        ("certficate renewal", "certificate renewal"),
    ):
        wrong, correct = (samples.query(text, mode=mode).body for text in (typo, right))
        assert wrong["results"][0]["chunk_id"] == correct["results"][0]["chunk_id"], typo
        assert "spelling" in codes(wrong)
        assert codes(correct) == []
        assert 0.5 < wrong["relevance"] <= correct["relevance"]


def test_min_relevance_filters_and_says_so(samples: Api):
    question = "How long is the warranty on a lamp?"
    body = samples.query(question, min_relevance=0.5, k=20, explain=True).body
    assert body["results"]
    assert all(hit["relevance"] >= 0.5 for hit in body["results"])
    weak = {c["chunk_id"] for c in body["diagnostics"]["candidates"] if c["relevance"] < 0.5}
    dropped = {each["chunk_id"]: each["reason"] for each in body["diagnostics"]["dropped"]}
    assert weak
    assert {dropped[chunk_id] for chunk_id in weak} == {"min_relevance"}
    nothing = samples.query("Who won the 1998 football world cup?", min_relevance=0.5).body
    assert (nothing["results"], nothing["relevance"]) == ([], 0.0)
    assert nothing["context"]["text"] == ""
    assert "min_relevance" in codes(nothing)


@pytest.mark.parametrize("value", [-0.1, 1.1, "high", None])
def test_min_relevance_is_a_number_from_0_to_1(library: Api, value: Any):
    answer = library.query("lamp", min_relevance=value)
    assert answer.status == 422
    assert [f["field"] for f in answer.body["error"]["details"]["fields"]] == ["min_relevance"]


def test_the_command_shows_it(library: Api, tenant: Namespace):
    out, err = StringIO(), StringIO()
    call_command("search", "lamp", namespace=tenant.slug, stdout=out, stderr=err)
    assert "relevance 0." in out.getvalue()
    options = {"namespace": tenant.slug, "min_relevance": 0.99}
    call_command("search", "boats", **options, stdout=(out := StringIO()), stderr=err)
    assert "Nothing found." in out.getvalue()
    assert "Note: min_relevance" in err.getvalue()
