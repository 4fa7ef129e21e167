"""A pipeline that says what a test wants, in place of retrieval.answering.answer.answer."""

import hashlib
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from documents.language_models.base import Cancelled, Usage
from retrieval.answering.requests import (
    AnswerEvent,
    AnswerRequest,
    AnswerResult,
    AnswerSentence,
    CheckedText,
    CheckReport,
    Citation,
    Event,
    Evidence,
    SourcesEvent,
    StatedValue,
    TextEvent,
    Uncertainty,
)
from retrieval.requests import Candidate, Hit

TEXT = "Vorwort. The tower is forty metres high. Ende."
CLAIM = "It is forty metres high"
ANSWER = f"{CLAIM} [cite:k7]."


def evidence(ident: str = "k7", *, page: int | None = 3) -> Evidence:
    start, end = 9, 40
    content = TEXT[start:end]
    hit = Hit(
        candidate=Candidate(uuid.uuid4(), uuid.uuid4(), relevance=0.9),
        document_version=2,
        title="The Tower",
        source_uri="upload:tower.md",
        section="Building",
        page=page,
        page_end=page,
        start=start,
        end=end,
        kind="text",
        content=content,
        checksum=hashlib.sha256(content.encode()).hexdigest(),
        metadata={},
        chunk_metadata={},
        tags=(),
        language="en",
    )
    return Evidence(ident, hit, as_of=datetime(2020, 5, 1, tzinfo=UTC))


def citation(source: Evidence) -> Citation:
    hit = source.hit
    return Citation(
        id=source.id,
        evidence=source,
        cited_text=hit.content,
        start=hit.start,
        end=hit.end,
        answer_start=0,
        answer_end=len(CLAIM),
        page_start=hit.page,
        page_end=hit.page,
    )


def result(source: Evidence, question: str = "How high?", **changes: Any) -> AnswerResult:
    values = (StatedValue("forty", source.id, 22, 27, source.as_of),)
    made = AnswerResult(
        text=ANSWER,
        question=question,
        is_answered=True,
        grounded=True,
        missing="",
        evidence=(source, evidence("m2", page=None)),
        citations=(citation(source),),
        sentences=(AnswerSentence(0, len(ANSWER), (source.id,), 0.8),),
        uncertainties=(Uncertainty("conflict", "40 or 41 metres", values, 6, 11),),
        report=CheckReport(unknown_ids=1),
        model="extractive",
        usage=Usage(100, 20),
        cost=0.25,
        finish="stop",
        searches=(question,),
        times_ms={"total": 12.0},
        relevance=0.9,
    )
    return replace(made, **changes)


class Script:
    """Stands in for the pipeline's `answer`; notes with what it was called and how it ended."""

    def __init__(self) -> None:
        self.requests: list[AnswerRequest] = []
        self.namespaces: list[uuid.UUID] = []
        self.ended = 0
        self.cancelled = 0
        self.before_sources: Callable[[], None] = lambda: None
        self.pieces: Callable[[threading.Event], Iterator[str]] = _whole
        self.changes: dict[str, Any] = {}

    def answer(
        self,
        namespace_id: uuid.UUID,
        request: AnswerRequest,
        *,
        cancelled: threading.Event | None = None,
    ) -> Iterator[Event]:
        self.requests.append(request)
        self.namespaces.append(namespace_id)
        stop, source = cancelled or threading.Event(), evidence()
        try:
            self.before_sources()
            yield SourcesEvent(request.search.query, (source,), None)
            for piece in self.pieces(stop):
                yield TextEvent(CheckedText(piece))
            yield TextEvent(CheckedText("", (citation(source),)))
            yield AnswerEvent(result(source, request.search.query, **self.changes))
        except Cancelled:
            self.cancelled += 1
            raise
        finally:
            self.ended += 1


def _whole(cancelled: threading.Event) -> Iterator[str]:
    yield ANSWER[:10]
    yield ANSWER[10:]


def until_cancelled(cancelled: threading.Event) -> Iterator[str]:
    """A model that has said one word and now thinks, as a provider's client does it: it looks at
    `cancelled` all the while."""
    yield "It "
    if cancelled.wait(60):
        raise Cancelled
    yield "is late."


def endless(cancelled: threading.Event) -> Iterator[str]:
    """A flood."""
    while not cancelled.is_set():
        yield "more and more " * 200
    raise Cancelled


def failing(error: Exception) -> Callable[[threading.Event], Iterator[str]]:
    def pieces(cancelled: threading.Event) -> Iterator[str]:
        yield "It "
        raise error

    return pieces


def wait_until(what: Callable[[], Any], seconds: float = 10) -> Any:
    deadline = time.monotonic() + seconds
    while not (value := what()):
        assert time.monotonic() < deadline, "not in time"
        time.sleep(0.02)
    return value
