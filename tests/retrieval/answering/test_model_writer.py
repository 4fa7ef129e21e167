"""A language model as writer: what passes, what counts as saying that it does not know."""

import threading
import time
from collections.abc import Iterator

import pytest

from documents.language_models.base import (
    AnswerPiece,
    ChatRequest,
    LanguageModel,
    LanguageModelBadResponse,
    Usage,
)
from retrieval.answering.evidence import number_evidence
from retrieval.answering.model_writer import ModelWriter
from retrieval.answering.requests import AnswerRequest, Evidence, Preferences
from retrieval.answering.writers.base import NotEnoughInformation, WritingTask
from retrieval.requests import SearchRequest

from .scripted import hit


def evidence(*texts: str) -> tuple[Evidence, ...]:
    return number_evidence([hit(text) for text in texts])


class Pieces(LanguageModel):
    """Streams the texts given, then ends."""

    identity = "test/pieces"

    def __init__(self, *texts: str) -> None:
        self.texts = texts
        self.requests: list[ChatRequest] = []

    def stream(
        self, request: ChatRequest, *, deadline: float, cancelled: threading.Event | None = None
    ) -> Iterator[AnswerPiece]:
        self.requests.append(request)
        yield from map(AnswerPiece, self.texts)
        yield AnswerPiece("", "stop", Usage(10, 3))


def write(model: LanguageModel, **changes: object) -> list[AnswerPiece]:
    request = AnswerRequest(SearchRequest("How long?"), **changes)  # type: ignore[arg-type]
    task = WritingTask("How long?", evidence("24 months."), request, Preferences(), 0.2)
    writer = ModelWriter(model, max_tokens=100)
    return list(writer.write(task, deadline=time.monotonic() + 5, cancelled=threading.Event()))


def test_pieces_pass_as_they_come() -> None:
    pieces = write(Pieces("It ", "lasts."))
    assert "".join(piece.text for piece in pieces) == "It lasts."
    assert pieces[-1].usage == Usage(10, 3)


@pytest.mark.parametrize(
    "texts",
    [
        ("NOT_ENOUGH_INFORMATION: the price",),
        ("NOT", "_ENOUGH_", "INFORMATION", ": the price\nAnd more"),
        ("\n  **NOT ENOUGH INFORMATION**: the price",),
        tuple("NOT_ENOUGH_INFORMATION: the price"),
    ],
)
def test_the_sentinel_is_recognised_however_it_is_cut(texts: tuple[str, ...]) -> None:
    with pytest.raises(NotEnoughInformation) as caught:
        write(Pieces(*texts))
    assert caught.value.missing == "the price"


def test_a_bare_sentinel_and_its_cost_are_known() -> None:
    with pytest.raises(NotEnoughInformation) as caught:
        write(Pieces("NOT_ENOUGH_INFORMATION"))
    assert caught.value.missing == ""
    assert caught.value.usage == Usage(10, 3)


def test_text_that_only_begins_alike_passes() -> None:
    pieces = write(Pieces("NOT_", "BAD: it lasts."))
    assert "".join(piece.text for piece in pieces) == "NOT_BAD: it lasts."


@pytest.mark.parametrize("texts", [(), ("",), (" \n", "\t")])
def test_an_empty_answer_is_an_error(texts: tuple[str, ...]) -> None:
    with pytest.raises(LanguageModelBadResponse):
        write(Pieces(*texts))


def test_options_of_the_request_reach_the_model() -> None:
    model = Pieces("Yes.")
    write(model, max_tokens=7, temperature=0.5, stop=("END",))
    (request,) = model.requests
    assert (request.max_tokens, request.temperature, request.stop) == (7, 0.5, ("END",))


def test_evidence_is_cut_to_what_the_model_reads() -> None:
    model = Pieces("Yes.")
    model.context_tokens = 1200
    request = AnswerRequest(SearchRequest("How long?"))
    items = evidence(*[f"{number} " + "word " * 200 for number in range(9)])
    task = WritingTask("How long?", items, request, Preferences(), 0.2)
    user = ModelWriter(model, max_tokens=100).messages(task)[-1].content
    assert "document id=" + items[0].id in user
    assert "document id=" + items[-1].id not in user
