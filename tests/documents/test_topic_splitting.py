"""The llm chunker: a model names sentences, the cuts are ours, and whatever it says can only be
better or worse places to cut."""

import json
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from documents.chunking.llm import MAX_SENTENCES, TopicSplitter
from documents.chunking.topic_finding import read_topics
from documents.embedders.hashing import HashingEmbedder
from documents.language_models.base import (
    AnswerPiece,
    ChatRequest,
    LanguageModel,
    LanguageModelBadResponse,
    LanguageModelFailed,
    LanguageModelTimeout,
    LanguageModelUnavailable,
    Usage,
)
from documents.models import Chunk, LanguageModelUsage, Namespace
from documents.passages import Extracted
from documents.profiles import profiles
from ragsite.database.tenancy import operator
from ragsite.platform.backends import load_backend

from ..client import Api

OTTERS = " ".join(f"Otters of river {n} swim far and eat fish." for n in range(8))
TAXES = " ".join(f"Taxes of year {n} are due by the end of May." for n in range(8))
TWO_TOPICS = f"{OTTERS} {TAXES}"
NUMBERED = re.compile(r"^\[(\d+)\] (.*)$", re.MULTILINE)

Behave = Callable[[list[str]], str]


def at_taxes(sentences: list[str]) -> str:
    """What a good model would say of TWO_TOPICS."""
    starts = [n for n, text in enumerate(sentences, 1) if text.startswith("Taxes of year 0")]
    return json.dumps({"starts": starts})


class ScriptedModel(LanguageModel):
    """Answers as the test wants, and keeps what it was asked."""

    behave: ClassVar[Behave] = at_taxes
    requests: ClassVar[list[ChatRequest]] = []

    @property
    def identity(self) -> str:
        return "scripted/one"

    def stream(
        self, request: ChatRequest, *, deadline: float, cancelled: threading.Event | None = None
    ) -> Iterator[AnswerPiece]:
        self.requests.append(request)
        text = type(self).behave(sentences_of(request))
        yield AnswerPiece(text)
        yield AnswerPiece(finish="stop", usage=Usage(100, 5))


def sentences_of(request: ChatRequest) -> list[str]:
    return [text for _, text in NUMBERED.findall(request.messages[-1].content)]


def splitter(find: Any, size: int = 100) -> TopicSplitter:
    return TopicSplitter(HashingEmbedder().count_tokens, find, size=size, limit=200)


def starts_with(passages: Sequence[Any]) -> list[str]:
    return [passage.text.split()[0] for passage in passages]


# -- cutting --------------------------------------------------------------------------------


def test_a_passage_ends_where_the_model_sees_a_new_topic():
    def find(sentences: Sequence[str]) -> list[int]:
        return [n for n, text in enumerate(sentences) if text.startswith("Taxes of year 0")]

    cut = splitter(find, size=150)
    passages = cut.split(Extracted(TWO_TOPICS))
    assert [passage.text for passage in passages] == [OTTERS, TAXES]
    assert cut.warnings == ()


def test_a_topic_longer_than_the_size_is_cut_between_sentences():
    passages = splitter(lambda sentences: [], size=60).split(Extracted(TWO_TOPICS))
    assert len(passages) > 2
    assert all(passage.tokens <= 60 and passage.text.endswith(".") for passage in passages)


def test_a_text_too_short_for_two_chunks_is_not_worth_a_question():
    def find(sentences: Sequence[str]) -> list[int]:
        raise AssertionError("asked")

    assert len(splitter(find, size=100).split(Extracted("# Title\n\nShort. Text."))) == 1


def test_long_documents_are_asked_about_in_parts_that_know_what_came_before():
    asked: list[Sequence[str]] = []

    def find(sentences: Sequence[str]) -> list[int]:
        asked.append(sentences)
        return [0, 1]  # of the second question, that is context: it changes nothing

    text = " ".join(f"Sentence {n} is about clay." for n in range(MAX_SENTENCES + 40))
    cut = splitter(find, size=100)
    both = cut.split(Extracted(text))
    assert [len(sentences) for sentences in asked] == [MAX_SENTENCES, 42]
    assert asked[1][:2] == asked[0][-2:]
    assert "".join(passage.text for passage in both).replace(" ", "") == text.replace(" ", "")


@given(st.lists(st.integers(0, 40), max_size=20), st.integers(16, 120))
def test_whatever_the_model_names_passages_are_exact_slices_of_all_of_the_text(
    named: list[int], size: int
):
    text = f"# Animals\n\n{OTTERS}\n\n## Money\n\n{TAXES}\n\n```\ncode\n```\n\n{OTTERS}"
    cut = splitter(lambda sentences: [n for n in named if n < len(sentences)], size=size)
    passages = cut.split(Extracted(text))
    assert all(text[passage.start : passage.end] == passage.text for passage in passages)
    covered = {place for passage in passages for place in range(passage.start, passage.end)}
    assert all(text[place].isspace() for place in set(range(len(text))) - covered)
    assert all(passage.tokens <= 200 for passage in passages)


@pytest.mark.parametrize(
    ("failure", "questions"),
    [
        (LanguageModelTimeout("Too late."), 1),  # a second question would wait as long
        (LanguageModelUnavailable("Not there."), 1),
        (LanguageModelBadResponse("Nonsense."), 3),
    ],
)
def test_a_model_that_fails_is_left_alone_and_paragraphs_are_packed(
    failure: LanguageModelFailed, questions: int
):
    asked = []

    def find(sentences: Sequence[str]) -> list[int]:
        asked.append(sentences)
        raise failure

    text = "\n\n".join(f"{OTTERS} {n}" for n in range(40))
    cut = splitter(find)
    passages = cut.split(Extracted(text))
    assert passages == splitter(None).split(Extracted(text))
    assert len(asked) == questions
    (warning,) = cut.warnings
    assert warning.startswith("llm_chunking: 1 of 1 sections were cut between paragraphs")
    assert failure.code in warning


# -- asking ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "places"),
    [
        ('{"starts": [2, 3]}', [1, 2]),
        ("[3, 2, 2]", [1, 2]),
        ('Sure!\n```json\n{"starts": [2]}\n```', [1]),
        ('{"starts": []}', []),
        ('{"starts": [1]}', []),
    ],
)
def test_answers_are_read_as_models_write_them(answer: str, places: list[int]):
    assert read_topics(answer, 3) == places


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "no idea",
        '{"starts": [4]}',
        '{"starts": [0]}',
        '{"starts": [-2]}',
        '{"starts": ["2"]}',
        '{"starts": [true]}',
        '{"starts": [2.5]}',
        '{"starts": 2}',
        '{"begin": [2]}',
        '{"starts": [2',
        "[" * 100_000,
    ],
)
def test_anything_else_is_refused_as_a_whole(answer: str):
    with pytest.raises(LanguageModelBadResponse):
        read_topics(answer, 3)


# -- from an upload to its chunks -------------------------------------------------------------


@pytest.fixture
def model(settings: Any) -> Iterator[type[ScriptedModel]]:
    backend = {"BACKEND": f"{__name__}.{ScriptedModel.__name__}"}
    settings.LANGUAGE_MODELS = {**settings.LANGUAGE_MODELS, "scripted": backend}
    settings.CHUNKING = {"model": "scripted", "seconds": 5}
    load_backend.cache_clear()
    ScriptedModel.behave = staticmethod(at_taxes)  # type: ignore[assignment]
    ScriptedModel.requests.clear()
    yield ScriptedModel
    load_backend.cache_clear()


def uploaded(api: Api, text: str = TWO_TOPICS) -> str:
    asked = json.dumps({"method": "llm", "size": 150})
    answer = api.upload(("a.txt", text), chunking=asked)
    assert answer.status == 202, answer.body
    return str(answer.body["results"][0]["document_id"])


def contents() -> list[str]:
    with operator():
        return list(Chunk.objects.order_by("ordinal").values_list("content", flat=True))


def booked() -> tuple[int, int, int]:
    with operator():
        usage = LanguageModelUsage.objects.get(model_identity="scripted/one")
    return usage.calls, usage.prompt_tokens, usage.completion_tokens


def warnings_of(api: Api, document: str) -> list[str]:
    return list(api.get(f"documents/{document}/versions").body["results"][0]["warnings"])


def test_an_upload_can_ask_for_it(api: Api, model: type[ScriptedModel], work: Callable[[], int]):
    document = uploaded(api)
    work()
    assert contents() == [OTTERS, TAXES]
    assert warnings_of(api, document) == []
    (request,) = model.requests
    assert request.json_mode is True
    assert sentences_of(request)[0] == "Otters of river 0 swim far and eat fish."


@pytest.mark.parametrize(
    "words", ["I refuse.", "<script>", json.dumps({"starts": [9999]}), TWO_TOPICS]
)
def test_nothing_a_model_says_gets_into_the_text(
    api: Api, model: type[ScriptedModel], work: Callable[[], int], words: str
):
    model.behave = staticmethod(lambda sentences: words)  # type: ignore[assignment]
    document = uploaded(api)
    work()
    assert api.get(f"documents/{document}").body["status"] == "ready"
    assert all(content in TWO_TOPICS for content in contents())
    (warning,) = warnings_of(api, document)
    assert "language_model_bad_response" in warning
    assert booked() == (1, 100, 5)  # it has cost something all the same


def test_what_it_takes_is_booked_to_the_namespace(
    api: Api, model: type[ScriptedModel], work: Callable[[], int]
):
    uploaded(api)
    work()
    assert booked() == (1, 100, 5)


def test_a_namespace_that_has_used_up_its_budget_is_cut_between_paragraphs(
    api: Api, model: type[ScriptedModel], settings: Any, work: Callable[[], int]
):
    settings.LANGUAGE_MODEL_CAPS = {"month_tokens": 100, "month_cost": 0}
    uploaded(api)
    work()
    document = uploaded(api, text=f"{TAXES} {OTTERS}")
    work()
    (warning,) = warnings_of(api, document)
    assert "cost_cap" in warning
    assert len(model.requests) == 1


def test_a_model_that_cannot_be_loaded_leaves_a_warning_and_a_searchable_document(
    api: Api, model: type[ScriptedModel], settings: Any, work: Callable[[], int]
):
    settings.LANGUAGE_MODELS = {"scripted": {"BACKEND": "nowhere.Model"}}
    load_backend.cache_clear()
    document = uploaded(api)
    work()
    (warning,) = warnings_of(api, document)
    assert "language_model_unavailable" in warning
    assert "nowhere" not in warning
    assert api.query("taxes of year 3", mode="lexical").body["results"]


def test_without_a_model_the_method_is_refused(api: Api):
    answer = api.upload(("a.txt", TWO_TOPICS), chunking='{"method": "llm"}')
    assert (answer.status, answer.code) == (422, "invalid_chunking")


def test_a_profile_can_have_it_where_there_is_a_model(
    api_of: Callable[..., Api],
    new_namespace: Callable[..., Namespace],
    model: type[ScriptedModel],
    settings: Any,
    work: Callable[[], int],
):
    profile = profiles.create("topics", embedder="hashing", chunker="llm", chunk_size=150)
    assert profile.chunk_overlap == 0
    api_of(new_namespace(profile=profile)).upload(("a.txt", TWO_TOPICS))
    work()
    assert contents() == [OTTERS, TAXES]
    settings.CHUNKING = {"model": "", "seconds": 5}
    with pytest.raises(profiles.ProfileMismatch, match="CHUNKING_MODEL"):
        profiles.create("more", embedder="hashing", chunker="llm")
