"""The tool `answer`: the same answers as POST /answer, for agents."""

from collections.abc import Callable
from typing import Any

import pytest

from documents.language_models.base import LanguageModelTimeout
from documents.models import Namespace
from ragsite.database.tenancy import operator
from retrieval.answering import answer as pipeline
from retrieval.tools.base import ToolContext
from retrieval.tools.calling import call_tool

from ..client import Api
from .tool_calls import refusal

QUESTION = {"question": "What is the tower of the lighthouse made of?"}

pytestmark = pytest.mark.usefixtures("no_agent_limit")


@pytest.fixture
def reader(
    real_library: Api, real_tenant: Namespace, context_of: Callable[..., ToolContext]
) -> ToolContext:
    return context_of(real_tenant, ("read",))


def test_an_answer_cites_the_words_that_stand_in_the_document(reader: ToolContext):
    result = call_tool(reader, "answer", QUESTION).result
    assert result["is_answered"] is True
    assert "granite" in result["answer"]
    assert result["citations"]
    for citation in result["citations"]:
        assert f"[cite:{citation['id']}]" in result["answer"]
        start, end = citation["start_char_index"], citation["end_char_index"]
        arguments = {
            "document_id": citation["document_id"],
            "include_text": True,
            "start": start,
            "max_chars": end - start,
        }
        text = call_tool(reader, "get_document", arguments).result["text"]["content"]
        assert text == citation["cited_text"]


def test_what_the_documents_do_not_say_is_not_answered(reader: ToolContext):
    result = call_tool(reader, "answer", {"question": "Who won the 1966 world cup?"}).result
    assert result["is_answered"] is False
    assert result["citations"] == []
    restricted = {**QUESTION, "filters": {"tags": ["trade"]}}
    assert "granite" not in call_tool(reader, "answer", restricted).result["answer"]


def test_an_answer_is_kept_until_the_namespace_wants_others(
    reader: ToolContext, real_tenant: Namespace
):
    assert [call_tool(reader, "answer", QUESTION).cached for _ in range(2)] == [False, True]
    with operator():
        Namespace.objects.filter(pk=real_tenant.pk).update(answer_language="de")
    assert not call_tool(reader, "answer", QUESTION).cached


def test_a_model_that_is_not_there_is_refused(reader: ToolContext):
    error = refusal(reader, "answer", {**QUESTION, "model": "nobody"})
    assert (error.code, error.status_code) == ("model_not_configured", 422)


def test_a_model_that_fails_is_an_error_with_its_code_and_is_not_kept(
    reader: ToolContext, monkeypatch: pytest.MonkeyPatch
):
    def too_late(*args: Any, **kwargs: Any) -> Any:
        raise LanguageModelTimeout("The language model did not answer in time.")

    with monkeypatch.context() as patched:
        patched.setattr(pipeline, "answer", too_late)
        error = refusal(reader, "answer", QUESTION)
    assert (error.code, error.status_code) == ("language_model_timeout", 504)
    assert not call_tool(reader, "answer", QUESTION).cached
