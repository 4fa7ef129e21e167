"""`feedback_boost`: feedback on similar questions moves passages, within bounds, for a while, and
only if a search asks for it; and the command that measures it on held-out questions."""

import json
import uuid
from collections.abc import Callable
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from documents.models import Document, Namespace
from evaluation.golden.curating import add_query, judge
from evaluation.golden.feedback import record_feedback
from evaluation.learning import votes
from evaluation.models import Feedback, FeedbackVector, GoldenSet
from ragsite.database.tenancy import namespace
from retrieval.learned.boosting import (
    HALF_LIFE_DAYS,
    MAX_BOOST,
    MIN_SIMILARITY,
    Vote,
    boost_of,
    reordered,
)
from retrieval.requests import Candidate, SearchRequest
from retrieval.search import search

from ..client import Answer, Api

QUESTION = "which wood is used for the hull of a boat"
SIMILAR = "which wood is used for the hull of a ship"
OTHER = "when does the bakery open on holidays"
TEXTS = {
    "oak.md": "Oak is the wood used for the hull of a boat.",
    "teak.md": "Teak is the wood used for a deck, and for the hull of a boat now and then.",
    "pine.md": "Pine is a soft wood, of use for masts.",
    "bakery.md": "The bakery opens at eight on holidays.",
}


@pytest.fixture
def boats(api: Api, work: Callable[[], int]) -> Api:
    assert api.upload(*TEXTS.items()).status == 202
    assert work() == len(TEXTS)
    return api


def sources(answer: Answer) -> list[str]:
    return [hit["source_uri"].removeprefix("upload:") for hit in answer.body["results"]]


def boosts(answer: Answer) -> dict[str, float | None]:
    return {
        hit["source_uri"].removeprefix("upload:"): hit["scores"]["boost"]
        for hit in answer.body["results"]
    }


def select(
    api: Api, tenant: Namespace, name: str, *, query: str = QUESTION, useful: bool | None = True
) -> Feedback:
    found = api.query(query, k=10).body["results"]
    (chunk_id,) = [hit["chunk_id"] for hit in found if hit["source_uri"] == f"upload:{name}"]
    return record_feedback(
        tenant.pk, query=query, selected_chunk_ids=[uuid.UUID(chunk_id)], useful=useful
    )


def test_feedback_on_the_same_question_counts_at_once_and_only_if_asked_for(
    boats: Api, tenant: Namespace
):
    before = boats.query(QUESTION, feedback_boost=True)
    assert set(boosts(before).values()) == {None}
    select(boats, tenant, "teak.md")
    # The result that was cached before the feedback is outdated by it.
    after = boats.query(QUESTION, feedback_boost=True)
    assert after.body["diagnostics"]["cache"] == "miss"
    (teak,) = [hit for hit in after.body["results"] if hit["source_uri"] == "upload:teak.md"]
    scores = teak["scores"]
    assert scores["boost"] > 0
    assert scores["final"] == pytest.approx(scores["fused"] + scores["boost"])
    assert [name for name, boost in boosts(after).items() if boost] == ["teak.md"]
    again = boats.query(QUESTION, feedback_boost=True)
    assert again.body["diagnostics"]["cache"] == "hit"
    assert again.body["results"] == after.body["results"]
    plain = boats.query(QUESTION)
    assert set(boosts(plain).values()) == {None}
    assert sources(plain) == sources(before)


def test_similar_questions_profit_once_their_vectors_are_there(boats: Api, tenant: Namespace):
    select(boats, tenant, "teak.md")
    assert boosts(boats.query(SIMILAR, feedback_boost=True))["teak.md"] is None
    votes.embed_everywhere()
    assert boosts(boats.query(SIMILAR, feedback_boost=True))["teak.md"] > 0
    assert set(boosts(boats.query(OTHER, feedback_boost=True)).values()) == {None}
    with namespace(tenant.pk):
        Feedback.objects.all().delete()
        assert not FeedbackVector.objects.exists()
    assert boosts(boats.query(SIMILAR, feedback_boost=True))["teak.md"] is None


def test_what_was_useless_moves_down(boats: Api, tenant: Namespace):
    first, second = sources(boats.query(QUESTION))[:2]
    for _ in range(5):
        select(boats, tenant, first, useful=False)
    moved = boats.query(QUESTION, feedback_boost=True)
    assert boosts(moved)[first] < 0
    for _ in range(20):
        select(boats, tenant, second)
    assert sources(boats.query(QUESTION, feedback_boost=True))[0] == second


def test_explain_shows_what_a_boost_is_made_of(boats: Api, tenant: Namespace):
    feedback = select(boats, tenant, "teak.md", useful=None)
    with namespace(tenant.pk):
        Feedback.objects.update(created_at=timezone.now() - timedelta(days=HALF_LIFE_DAYS))
    told = boats.query(QUESTION, feedback_boost=True, explain=True).body["diagnostics"]
    with_votes = [each for each in told["candidates"] if each["votes"]]
    (candidate,) = with_votes
    (vote,) = candidate["votes"]
    assert vote["feedback_id"] == str(feedback.pk)
    assert (vote["similarity"], vote["value"]) == (1, 0.5)
    assert vote["age_days"] == pytest.approx(HALF_LIFE_DAYS, abs=0.1)
    assert vote["strength"] == pytest.approx(0.25, abs=0.01)  # half a vote, half of it left
    assert "boost" in told["times_ms"]
    assert candidate["scores"]["boost"] > 0


def test_a_new_version_keeps_the_votes_of_what_it_still_says(
    boats: Api, tenant: Namespace, work: Callable[[], int]
):
    select(boats, tenant, "teak.md")
    text = "A new beginning of the page.\n\n" + TEXTS["teak.md"]
    assert boats.upload(("teak.md", text)).status == 202
    work()
    assert boosts(boats.query(QUESTION, feedback_boost=True))["teak.md"] > 0


def test_other_namespaces_feedback_moves_nothing(
    boats: Api,
    tenant: Namespace,
    other_tenant: Namespace,
    api_of: Callable[..., Api],
    work: Callable[[], int],
):
    theirs = api_of(other_tenant)
    theirs.upload(*TEXTS.items())
    work()
    select(boats, tenant, "teak.md")
    votes.embed_everywhere()
    for question in (QUESTION, SIMILAR):
        answer = theirs.query(question, feedback_boost=True)
        assert len(answer.body["results"]) > 1
        assert set(boosts(answer).values()) == {None}


def test_a_boost_is_bounded_and_fades():
    assert boost_of([1.0]) == pytest.approx(MAX_BOOST / 2)
    assert boost_of([1.0] * 10_000) < MAX_BOOST
    assert boost_of([-1.0] * 10_000) > -MAX_BOOST
    assert boost_of([1.0, -1.0]) == 0

    def strength(similarity: float = 1.0, age_days: float = 0.0) -> float:
        document, chunk = uuid.uuid4(), uuid.uuid4()
        return Vote(uuid.uuid4(), similarity, age_days, 1.0, document, chunk, "text").strength

    assert strength() == 1
    assert strength(age_days=2 * HALF_LIFE_DAYS) == pytest.approx(0.25)
    assert strength(MIN_SIMILARITY) == 0
    assert 0 < strength((1 + MIN_SIMILARITY) / 2) < 1


def test_reranked_candidates_stay_before_the_others():
    document = uuid.uuid4()
    reranked = [Candidate(uuid.uuid4(), document, fused=0.1, rerank=score) for score in (0.9, 0.2)]
    rest = [Candidate(uuid.uuid4(), document, fused=score) for score in (5.0, 4.0, 3.0)]
    best_vote = Vote(uuid.uuid4(), 1.0, 0.0, 1.0, document, uuid.uuid4(), "text")
    counted = {rest[1].chunk_id: [(best_vote, 20.0)]}
    order = reordered([*reranked, *rest], counted)
    assert [each.chunk_id for each in order] == [
        each.chunk_id for each in (*reranked, rest[0], rest[1], rest[2])
    ]
    assert rest[1].boost == pytest.approx(2.0 * boost_of([20.0]))
    assert reranked[0].final == 0.9


def measured(tenant: Namespace, *options: str) -> tuple[dict[str, Any], int]:
    out, code = StringIO(), 0
    try:
        call_command("evaluate_boost", f"--namespace={tenant.slug}", "--json", *options, stdout=out)
    except SystemExit as stop:
        code = int(stop.code or 0)
    return {each["name"]: each for each in json.loads(out.getvalue())}, code


def judged(tenant: Namespace, name: str, answers: dict[str, str]) -> None:
    with namespace(tenant.pk):
        golden = GoldenSet.objects.create(namespace=tenant, name=name)
        documents = {
            d.source_uri.removeprefix("upload:"): d
            for d in Document.objects.filter(namespace=tenant)
        }
        for question, document in answers.items():
            judge(add_query(golden, question), documents[document], grade=1)


def test_no_question_is_measured_with_its_own_feedback(boats: Api, tenant: Namespace):
    judged(tenant, "boats", {QUESTION: "teak.md"})
    for _ in range(8):
        select(boats, tenant, "teak.md")
    effects, code = measured(tenant)
    assert code == 0
    assert set(effects) == {"boats", "(feedback)"}
    for effect in effects.values():
        assert (effect["questions"], effect["boosted"], effect["gain"]) == (1, 0, 0)


WORDS = (
    *("oak", "teak", "pine", "birch", "cedar", "maple", "elm", "ash", "larch", "alder"),
    *("beech", "walnut", "cherry", "poplar", "willow", "spruce"),
)


def test_the_measurement_shows_gains_and_refuses_losses(
    tenant: Namespace, api: Api, work: Callable[[], int]
):
    """Two pages for each wood, much alike. People select the second; the judges of one set agree
    with them, those of the other do not."""
    files = [
        (f"{word}-{kind}.md", f"The {kind} page about {word} wood: {word} planks are {quality}.")
        for word in WORDS
        for kind, quality in (("one", "light"), ("other", "heavy"))
    ]
    assert api.upload(*files).status == 202
    assert work() == len(files)
    asked = {word: f"what is {word} wood good for in planks today" for word in WORDS}
    right, wrong = {}, {}
    for word, question in asked.items():
        first, second = [n for n in sources(api.query(question)) if n.startswith(word)][:2]
        for _ in range(6):
            select(api, tenant, second, query=question)
        right[f"{question} again"] = second
        wrong[f"{question} again"] = first
    judged(tenant, "liked", right)
    gained, code = measured(tenant, "--golden-set=liked")
    assert code == 0
    assert gained["liked"]["gain"] > 0
    assert gained["liked"]["p_value"] < 0.05
    judged(tenant, "wronged", wrong)
    errors = StringIO()
    with pytest.raises(SystemExit) as stopped:
        call_command(
            "evaluate_boost", f"--namespace={tenant.slug}", stdout=StringIO(), stderr=errors
        )
    assert stopped.value.code == 2
    assert "wronged" in errors.getvalue()


def test_without_feedback_there_is_nothing_to_measure(tenant: Namespace):
    with pytest.raises(CommandError, match="no feedback"):
        call_command("evaluate_boost", f"--namespace={tenant.slug}")
    assert search(tenant.pk, SearchRequest("anything", feedback_boost=True)).hits == ()
