"""What is shown of conversations, and what is embedded of a question about them."""

from collections.abc import Callable
from typing import Any

import pytest

from documents.models import Namespace
from retrieval.candidates import legs
from tests.documents.test_conversations import recall, say, spoken

from ..client import Api


def test_turns_around_a_passage_are_shown_once(api: Api, work: Callable[[], int]) -> None:
    say(api, *(spoken(n, "the beacon" if n == 20 else f"remark {n}") for n in range(40)))
    work()
    plain, wide = (
        recall(api, "beacon", k=1, mode="lexical", around=around)[0] for around in (0, 4)
    )
    text = api.get(f"documents/{wide['document_id']}/text").body["text"]
    assert text[wide["span"]["start"] : wide["span"]["end"]] == wide["content"]
    assert plain["content"] in wide["content"]
    shown = len(wide["chunk_metadata"]["turns"])
    assert shown - len(plain["chunk_metadata"]["turns"]) in (4, 8)
    assert wide["content"].count("\n") == shown - 1
    many = recall(api, "remark", k=5, around=50)
    seen = [turn["turn"] for hit in many for turn in hit["chunk_metadata"]["turns"]]
    assert len(set(seen)) == 40


def test_names_of_speakers_are_left_out_of_what_is_embedded(
    api: Api, tenant: Namespace, work: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    say(api, spoken(1), spoken(2), user="u1")
    say(api, spoken(3, speaker="Will Harper"), user="u2")
    say(api, {"role": "user", "content": "The tide is low."}, user="u1", session="s2")
    work()
    embedded: list[str] = []
    real = legs.embed_question

    def noting(index: Any, text: str) -> Any:
        embedded.append(text)
        return real(index, text)

    monkeypatch.setattr(legs, "embed_question", noting)
    for question, user in (
        ("What does Ada say about Grace's harbour?", "u1"),
        ("What will Will Harper do, and when does Will leave?", "u2"),
        ("What does Will Harper say about the harbour?", "u1"),  # nobody of that name speaks there
        ("Who is Ada?", "u1"),
        ("What did the User say about the tide?", "u1"),
    ):
        recall(api, question, user=user)
    api.query("What does Ada say about the harbour?", filters={"include_conversations": True})
    assert embedded == [
        "What does say about harbour?",
        "What will do, and when does leave?",
        "What does Will Harper say about the harbour?",
        "Who is Ada?",
        "What did the User say about the tide?",
        "What does Ada say about the harbour?",
    ]


def test_more_is_shown_of_conversations_than_of_documents_by_default(
    api: Api, work: Callable[[], int], settings: Any
) -> None:
    settings.SEARCH = {**settings.SEARCH, "token_budget": 100, "conversation_token_budget": 900}
    for day in range(1, 4):
        at = (f"2026-03-{day:02}T10:{minute:02}:00Z" for minute in range(30))
        say(api, *(spoken(n, at=moment) for n, moment in enumerate(at)), session=f"s{day}")
    work()
    shown = api.post("memories/search", {"query": "remark about the harbour", "k": 3}).body
    assert 600 < shown["context"]["tokens"] <= 900
    asked = api.query("remark about the harbour", filters={"include_conversations": True})
    assert asked.body["context"]["tokens"] <= 100


def test_turns_fill_the_token_budget(api: Api, work: Callable[[], int]) -> None:
    """Without `around`: as many turns as the budget has room for, up to whole sessions."""
    for session in ("s1", "s2", "s3"):
        words = "the beacon was lit" if session == "s2" else "a remark on the weather"
        say(api, *(spoken(n, f"{words}, number {n}", session=session) for n in range(30)))
    work()
    question = {"query": "when was the beacon lit?", "k": 3}

    def found(budget: int, **fields: Any) -> dict[str, Any]:
        body = {**question, "token_budget": budget, **fields}
        answer = api.post("memories/search", body)
        assert answer.status == 200, answer.body
        return dict(answer.body)

    def turns_in(answer: dict[str, Any]) -> int:
        return sum(len(hit["chunk_metadata"]["turns"]) for hit in answer["results"])

    sizes = []
    for budget in (400, 900, 100_000):
        answer = found(budget)
        assert answer["context"]["tokens"] <= budget
        assert all(drop["reason"] != "token_budget" for drop in answer["diagnostics"]["dropped"])
        sizes.append(turns_in(answer))
    assert sizes[0] < sizes[1] < sizes[2] == 90  # in the end each session as a whole
    assert len(found(100_000)["results"]) == 3
    narrow = found(100_000, around=0)
    assert turns_in(narrow) < sizes[2]
    assert found(100_000, around=None)["results"] == found(100_000)["results"]
    # Too small even for the passages alone: the best that fit.
    assert 1 <= len(found(120)["results"]) < 3
