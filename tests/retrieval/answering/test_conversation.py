"""Follow-ups made to stand alone, with a model and without."""

import threading
import time

import pytest

from documents.language_models.base import LanguageModelUnavailable, Message
from retrieval.answering.question.conversation import carry_terms, standalone_question

from .scripted import ScriptedModel

HISTORY = (
    Message("user", "How long is the swimming pool open?"),
    Message("assistant", "Until nine [cite:ab12]."),
)


def ask(question: str, model: ScriptedModel | None) -> tuple[str, str]:
    found, _, fallback = standalone_question(
        question,
        HISTORY,
        model=model,
        deadline=time.monotonic() + 5,
        cancelled=threading.Event(),
    )
    return found, fallback


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("And in winter?", "And in winter? long swimming pool open"),
        ("What does it cost?", "What does it cost? long swimming pool open"),
        ("How deep is the diving basin next door?", "How deep is the diving basin next door?"),
    ],
)
def test_words_are_carried_over_only_where_they_are_missing(question: str, expected: str) -> None:
    assert carry_terms(question, HISTORY) == expected


def test_the_latest_question_that_says_something_gives_the_words() -> None:
    history = (*HISTORY, Message("user", "And then?"))
    assert "pool" in carry_terms("Why is that?", history)


def test_without_a_conversation_the_question_stays() -> None:
    found = standalone_question(
        "Why?", (), model=None, deadline=time.monotonic() + 5, cancelled=threading.Event()
    )
    assert found[0] == "Why?"


def test_a_model_rewrites_and_sees_the_conversation_without_markers() -> None:
    model = ScriptedModel("How long is the swimming pool open in winter?")
    assert ask("And in winter?", model) == ("How long is the swimming pool open in winter?", "")
    assert "[cite:" not in model.requests[0].messages[-1].content


@pytest.mark.parametrize("reply", ["", "…", "x" * 5000])
def test_an_unusable_rewrite_falls_back_to_carried_words(reply: str) -> None:
    found, fallback = ask("And in winter?", ScriptedModel(reply))
    assert found.endswith("swimming pool open")
    assert fallback == "carried_terms: unusable_rewrite"


def test_a_model_that_fails_does_not_fail_the_question() -> None:
    found, fallback = ask("And in winter?", ScriptedModel(LanguageModelUnavailable("gone")))
    assert found.endswith("swimming pool open")
    assert fallback == "carried_terms: language_model_unavailable"
