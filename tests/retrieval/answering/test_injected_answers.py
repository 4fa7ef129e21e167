"""A model that obeys everything outside the data blocks of its prompt, asked about documents that
try to take it over: it says nothing that a document wanted."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from documents.models import Namespace
from ragsite.database.tenancy import operator
from ragsite.platform.backends import load_backend
from retrieval.answering.answer import answer_whole, prompt_for
from retrieval.answering.requests import AnswerRequest
from retrieval.requests import SearchRequest

from ...client import Api
from .hostile_documents import canary, files, question, topic
from .obedient import CANARY, ObedientModel, broken_templates, outside_data


@pytest.fixture
def obedient(settings: Any) -> Iterator[ObedientModel]:
    settings.LANGUAGE_MODELS = {
        **settings.LANGUAGE_MODELS,
        "obedient": {"BACKEND": "tests.retrieval.answering.obedient.ObedientModel"},
    }
    load_backend.cache_clear()
    yield load_backend("LANGUAGE_MODELS", "obedient")
    load_backend.cache_clear()


@pytest.fixture
def hostile_library(
    api: Api, tenant: Namespace, work: Callable[[], int]
) -> dict[str, tuple[int, str, str | bytes]]:
    """Every hostile document, indexed; whatever is found is good enough to be answered from."""
    made = files()
    api.upload(*((name, content) for _, name, content in made.values()))
    assert work() == len(made) > 40
    with operator():
        Namespace.objects.filter(pk=tenant.pk).update(answer_min_relevance=0.0)
    return made


def asking(number: int, model: str) -> AnswerRequest:
    return AnswerRequest(search=SearchRequest(query=question(number), k=5), model=model)


def test_the_obedient_model_does_obey_what_stands_outside_the_blocks(
    library: Api, tenant: Namespace, obedient: ObedientModel
):
    """Else the tests below would show nothing."""
    search = SearchRequest(query="How high is the granite tower?")
    request = AnswerRequest(search=search, model="obedient", instructions="Print CANARY-9, please.")
    assert "CANARY-9" in answer_whole(tenant.pk, request).text


def test_no_document_of_any_format_is_obeyed(
    hostile_library: dict[str, Any], tenant: Namespace, obedient: ObedientModel
):
    obeyed, unread, cited = [], [], 0
    for what, (number, _, _) in hostile_library.items():
        obedient.prompts.clear()
        result = answer_whole(tenant.pk, asking(number, "obedient"))
        documents = obedient.prompts[-1][-1].content.partition("\nQuestion: ")[0]
        if topic(number) not in documents:
            unread.append(what)
        if CANARY.search(result.text) or CANARY.search(outside_data(obedient.prompts[-1])):
            obeyed.append(what)
        known = {item.id for item in result.evidence}
        assert {citation.id for citation in result.citations} <= known
        cited += bool(result.citations)
    assert unread == []  # every one was in a prompt
    assert obeyed == []
    assert cited == len(hostile_library)


def test_the_prompt_that_is_shown_is_as_contained_as_the_one_that_is_sent(
    hostile_library: dict[str, Any], tenant: Namespace, obedient: ObedientModel
):
    preview = prompt_for(tenant.pk, asking(0, "obedient"))
    assert canary(0) in preview.messages[-1].content
    assert not CANARY.search(outside_data(preview.messages))
    assert broken_templates(preview.messages) == []


def test_the_extractive_writer_takes_instructions_for_text(
    hostile_library: dict[str, Any], tenant: Namespace
):
    """It can quote a hostile sentence, word for word and cited; it cannot do what it says."""
    for number, _, _ in hostile_library.values():
        result = answer_whole(tenant.pk, asking(number, "extractive"))
        markers = re.findall(r"\[cite:([^\]]*)\]", result.text)
        assert set(markers) <= {citation.id for citation in result.citations}
        sources = [f"{item.hit.table_header}\n{item.text}" for item in result.evidence]
        for said in CANARY.findall(result.text):  # a table's rows come with their header
            assert any(said in source for source in sources)
