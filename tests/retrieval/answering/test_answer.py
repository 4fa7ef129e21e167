"""The pipeline from a question to a checked answer, on real rows, with scripted models."""

import re
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from documents.language_models.base import (
    Cancelled,
    ChatRequest,
    LanguageModelUnavailable,
    Message,
)
from documents.models import LanguageModelUsage, Namespace
from ragsite.database.tenancy import namespace, operator
from ragsite.platform.backends import load_backend
from ragsite.platform.errors import ApiError
from retrieval.answering.answer import answer, answer_whole, prompt_for
from retrieval.answering.requests import (
    AnswerEvent,
    AnswerRequest,
    AnswerResult,
    SourcesEvent,
    TextEvent,
)
from retrieval.requests import SearchRequest

from ...client import Api
from .scripted import ScriptedModel

LIBRARY = {
    "lamps.md": "# Lamps\n\nThe warranty on a lamp lasts 24 months. Bulbs are not covered.\n",
    "canteen.md": "# Canteen\n\nThe canteen opens at noon. Soup costs 3 euros.\n",
}
ID = re.compile(r"document id=(\w+)>")


@pytest.fixture
def library(api: Api, work: Callable[[], int]) -> Api:
    api.upload(*LIBRARY.items())
    work()
    return api


@pytest.fixture
def model(settings: Any) -> Iterator[Callable[..., ScriptedModel]]:
    """Makes a scripted model the one that writes answers."""

    def use(reply: Any, **options: Any) -> ScriptedModel:
        backend = "tests.retrieval.answering.scripted.ScriptedModel"
        entry = {"BACKEND": backend, "OPTIONS": {"reply": reply}}
        settings.LANGUAGE_MODELS = {**settings.LANGUAGE_MODELS, "scripted": entry}
        settings.ANSWERS = {**settings.ANSWERS, "model": "scripted", **options}
        load_backend.cache_clear()
        made: ScriptedModel = load_backend("LANGUAGE_MODELS", "scripted")
        return made

    yield use
    load_backend.cache_clear()


def ids_in(request: ChatRequest) -> list[str]:
    return ID.findall(request.messages[-1].content)


def ask(tenant: Namespace, question: str, **fields: Any) -> AnswerResult:
    return answer_whole(tenant.pk, AnswerRequest(SearchRequest(question), **fields))


def test_without_a_model_the_best_sentence_answers_and_is_cited(
    library: Api, tenant: Namespace
) -> None:
    result = ask(tenant, "How long is the warranty on a lamp?")
    assert result.is_answered
    assert result.text.startswith("The warranty on a lamp lasts 24 months.")
    (citation, *_) = result.citations
    assert citation.cited_text == "The warranty on a lamp lasts 24 months."
    document = citation.evidence.hit.candidate.document_id
    text = library.get(f"documents/{document}/text").body["text"]
    assert text[citation.start : citation.end] == citation.cited_text


def test_events_come_in_order_and_their_texts_make_up_the_answer(
    library: Api, tenant: Namespace, model: Callable[..., ScriptedModel]
) -> None:
    model(lambda request: f"It lasts 24 months [cite:{ids_in(request)[0]}].")
    request = AnswerRequest(SearchRequest("How long is the warranty on a lamp?"))
    events = list(answer(tenant.pk, request))
    assert isinstance(events[0], SourcesEvent)
    assert isinstance(events[-1], AnswerEvent)
    texts = [event.checked.text for event in events if isinstance(event, TextEvent)]
    assert len(texts) == len(events) - 2
    assert "".join(texts) == events[-1].result.text
    assert events[-1].result.grounded
    assert events[-1].result.model == "scripted"


def test_ids_that_nobody_gave_never_leave(
    library: Api, tenant: Namespace, model: Callable[..., ScriptedModel]
) -> None:
    model("It lasts 24 months [cite:zzzz] [cite:1].")
    result = ask(tenant, "How long is the warranty on a lamp?")
    assert "cite" not in result.text
    assert result.citations == ()
    assert result.report.unknown_ids == 2
    assert not result.grounded


def test_with_nothing_found_no_model_is_called(
    tenant: Namespace, model: Callable[..., ScriptedModel], api: Api
) -> None:
    scripted = model("I know everything.")
    result = ask(tenant, "How long is the warranty on a lamp?")
    assert not result.is_answered
    assert "not hold enough information" in result.text
    assert result.model == "none"
    assert scripted.requests == []
    assert result.searches == ("How long is the warranty on a lamp?", "long warranty lamp")


def test_a_model_that_does_not_know_gets_a_second_search_before_it_is_believed(
    library: Api, tenant: Namespace, model: Callable[..., ScriptedModel]
) -> None:
    def reply(request: ChatRequest) -> str:
        if request.json_mode:
            return '{"questions": ["price of soup in the canteen"]}'
        return "NOT_ENOUGH_INFORMATION: the price of a lamp"

    model(reply)
    result = ask(tenant, "What does a lamp cost?")
    assert result.searches == ("What does a lamp cost?", "price of soup in the canteen")
    assert not result.is_answered
    assert result.missing == "the price of a lamp"
    assert "the price of a lamp" in result.text
    assert result.usage.prompt_tokens >= 20


def test_what_a_second_search_finds_can_be_cited(
    library: Api, tenant: Namespace, model: Callable[..., ScriptedModel]
) -> None:
    def reply(request: ChatRequest) -> str:
        if request.json_mode:
            return '{"questions": ["soup euros"]}'
        blocks = request.messages[-1].content
        if "Soup costs" not in blocks:
            return "NOT_ENOUGH_INFORMATION: prices"
        found = re.search(r"document id=(\w+)>(?:(?!document id=).)*Soup costs", blocks, re.DOTALL)
        assert found
        return f"Soup costs 3 euros [cite:{found[1]}]."

    model(reply)
    request = AnswerRequest(SearchRequest("warranty", k=1))
    events = list(answer(tenant.pk, request))
    sources = [event for event in events if isinstance(event, SourcesEvent)]
    assert len(sources) == 2
    first = {item.id for item in sources[0].evidence}
    assert first < {item.id for item in sources[1].evidence}
    result = events[-1].result  # type: ignore[union-attr]
    assert result.is_answered
    assert [c.cited_text for c in result.citations] == ["Soup costs 3 euros."]


def test_a_follow_up_is_searched_for_with_the_words_it_lacks(
    library: Api, tenant: Namespace
) -> None:
    history = (
        Message("user", "How long is the warranty on a lamp?"),
        Message("assistant", "24 months."),
    )
    result = ask(tenant, "And what is not covered by it?", messages=history)
    assert "lamp" in result.question
    assert "lamp" in result.searches[0]


def test_the_namespace_decides_model_prompt_and_language(
    library: Api, tenant: Namespace, model: Callable[..., ScriptedModel], settings: Any
) -> None:
    scripted = model(lambda request: f"24 Monate [cite:{ids_in(request)[0]}].")
    settings.ANSWERS = {**settings.ANSWERS, "model": "extractive"}
    with operator():
        Namespace.objects.filter(pk=tenant.pk).update(
            answer_model="scripted", answer_prompt="Readers are nurses.", answer_language="de"
        )
    assert ask(tenant, "How long is the warranty on a lamp?").model == "scripted"
    system = scripted.requests[0].messages[0].content
    assert "Readers are nurses." in system
    assert "Answer in German." in system


def test_a_least_relevance_of_the_namespace_is_kept_to(
    library: Api, tenant: Namespace, model: Callable[..., ScriptedModel]
) -> None:
    scripted = model("Anything.")
    with operator():
        Namespace.objects.filter(pk=tenant.pk).update(answer_min_relevance=1.0)
    result = ask(tenant, "How long is the warranty on a lamp?")
    assert not result.is_answered
    assert not any(ids_in(request) for request in scripted.requests)


def test_values_that_disagree_are_shown_even_if_the_model_keeps_quiet(
    api: Api,
    work: Callable[[], int],
    tenant: Namespace,
    model: Callable[..., ScriptedModel],
) -> None:
    api.upload(
        ("old.md", "The warranty on a lamp lasts 12 months.\n"),
        ("new.md", "The warranty on a lamp lasts 24 months.\n"),
    )
    work()
    model(lambda request: f"It lasts 24 months [cite:{ids_in(request)[0]}].")
    result = ask(tenant, "How long is the warranty on a lamp?")
    (conflict,) = [one for one in result.uncertainties if one.kind == "conflict"]
    assert {value.text for value in conflict.values} == {"12 months", "24 months"}
    assert "disagree" in result.text
    assert "12 months" in result.text


def test_a_number_that_stands_in_no_cited_passage_is_flagged(
    library: Api, tenant: Namespace, model: Callable[..., ScriptedModel]
) -> None:
    model(lambda request: f"It lasts 36 months [cite:{ids_in(request)[0]}].")
    result = ask(tenant, "How long is the warranty on a lamp?")
    assert [one.kind for one in result.uncertainties] == ["unsupported_value"]
    assert not result.grounded


def test_tokens_are_booked_to_the_namespace(
    library: Api, tenant: Namespace, model: Callable[..., ScriptedModel]
) -> None:
    model(lambda request: f"24 months [cite:{ids_in(request)[0]}].")
    result = ask(tenant, "How long is the warranty on a lamp?")
    assert (result.usage.prompt_tokens, result.usage.completion_tokens) == (10, 5)
    with namespace(tenant.pk):
        booked = LanguageModelUsage.objects.get()
    assert (booked.prompt_tokens, booked.completion_tokens) == (10, 5)


def test_a_model_that_is_not_there_is_named(tenant: Namespace) -> None:
    with pytest.raises(ApiError) as caught:
        ask(tenant, "Why?", model="nobody")
    assert caught.value.code == "model_not_configured"
    assert caught.value.details == {"available": ["extractive"]}


def test_a_model_that_fails_fails_the_answer(
    library: Api, tenant: Namespace, model: Callable[..., ScriptedModel]
) -> None:
    model(LanguageModelUnavailable("gone"))
    with pytest.raises(LanguageModelUnavailable):
        ask(tenant, "How long is the warranty on a lamp?")


def test_nothing_of_another_tenant_is_ever_evidence(
    library: Api, other_tenant: Namespace, model: Callable[..., ScriptedModel]
) -> None:
    model("Anything.")
    result = ask(other_tenant, "How long is the warranty on a lamp?")
    assert result.evidence == ()


def test_an_answer_can_be_given_feedback(library: Api, tenant: Namespace) -> None:
    result = ask(tenant, "How long is the warranty on a lamp?")
    answered = library.post("feedback", {"query_id": str(result.query_id), "useful": True})
    assert answered.status == 201, answered.body


def test_the_prompt_can_be_looked_at_without_asking_anybody(
    library: Api, tenant: Namespace, model: Callable[..., ScriptedModel]
) -> None:
    scripted = model("Anything.")
    preview = prompt_for(tenant.pk, AnswerRequest(SearchRequest("How long is the warranty?")))
    assert "The warranty on a lamp lasts 24 months." in preview.messages[-1].content
    assert preview.tokens > 100
    assert scripted.requests == []


def test_a_cancelled_answer_asks_no_model(
    library: Api, tenant: Namespace, model: Callable[..., ScriptedModel]
) -> None:
    scripted = model("Anything.")
    cancelled = threading.Event()
    cancelled.set()
    request = AnswerRequest(SearchRequest("How long is the warranty on a lamp?"))
    with pytest.raises(Cancelled):
        list(answer(tenant.pk, request, cancelled=cancelled))
    assert scripted.requests == []


def test_an_answer_that_nobody_waited_for_is_booked(
    library: Api, tenant: Namespace, model: Callable[..., ScriptedModel]
) -> None:
    model(lambda request: f"It lasts 24 months [cite:{ids_in(request)[0]}]. And so on.")
    request = AnswerRequest(SearchRequest("How long is the warranty on a lamp?"))
    events = answer(tenant.pk, request)
    assert isinstance(next(events), SourcesEvent)
    assert isinstance(next(events), TextEvent)
    events.close()  # type: ignore[attr-defined]
    with namespace(tenant.pk):
        booked = LanguageModelUsage.objects.get()
    assert booked.prompt_tokens > 100
    assert booked.completion_tokens > 5


class LastFirst:
    """Prefers what stands last in its list."""

    name = "cross-encoder"

    def rerank(self, query: str, passages: Any, *, deadline: float) -> list[float]:
        return [number / 10 for number in range(len(passages))]

    def warm(self) -> None:
        return None


def test_a_configured_cross_encoder_orders_the_sentences_of_an_extractive_answer(
    library: Api, tenant: Namespace, settings: Any
) -> None:
    question = "How long is the warranty on a lamp?"
    plain = ask(tenant, question, model="extractive").text
    backend = "tests.retrieval.answering.test_answer.LastFirst"
    settings.RERANKERS = {**settings.RERANKERS, "cross-encoder": {"BACKEND": backend}}
    load_backend.cache_clear()
    with operator():
        Namespace.objects.filter(pk=tenant.pk).update(answer_min_relevance=0.0)
    assert ask(tenant, question, model="extractive").text != plain
    load_backend.cache_clear()
