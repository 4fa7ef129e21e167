"""Language models and search results made by hand, for steps that need neither server nor rows."""

import threading
import time
import uuid
from collections.abc import Callable, Iterator

from documents.language_models.base import (
    AnswerPiece,
    ChatRequest,
    LanguageModel,
    LanguageModelFailed,
    Usage,
)
from retrieval.answering.requests import Evidence
from retrieval.requests import Candidate, Diagnostics, Hit, SearchResult

Reply = Callable[[ChatRequest], str]
SOON = 60.0


def soon() -> float:
    return time.monotonic() + SOON


class ScriptedModel(LanguageModel):
    """Says what it is given: a text, or what a function makes of the request."""

    def __init__(self, reply: Reply | str | LanguageModelFailed) -> None:
        self.reply = reply
        self.requests: list[ChatRequest] = []

    @property
    def identity(self) -> str:
        return "scripted/model"

    def stream(
        self,
        request: ChatRequest,
        *,
        deadline: float,
        cancelled: threading.Event | None = None,
    ) -> Iterator[AnswerPiece]:
        self.requests.append(request)
        if isinstance(self.reply, LanguageModelFailed):
            raise self.reply
        yield AnswerPiece(self.reply(request) if callable(self.reply) else self.reply)
        yield AnswerPiece(finish="stop", usage=Usage(10, 5))


def hit(
    content: str = "text",
    *,
    chunk_id: uuid.UUID | None = None,
    title: str = "Title",
    section: str = "",
    merged: tuple[uuid.UUID, ...] = (),
) -> Hit:
    return Hit(
        candidate=Candidate(chunk_id=chunk_id or uuid.uuid4(), document_id=uuid.uuid4()),
        document_version=1,
        title=title,
        source_uri="upload:x.md",
        section=section,
        page=None,
        start=0,
        end=len(content),
        kind="text",
        content=content,
        checksum="",
        metadata={},
        chunk_metadata={},
        tags=(),
        language="en",
        merged=merged,
    )


def evidence(ident: str, content: str, **fields: str) -> Evidence:
    return Evidence(ident, hit(content, **fields))  # type: ignore[arg-type]


def found(*hits: Hit) -> SearchResult:
    diagnostics = Diagnostics("default", "hybrid", "weighted", 0, 0, "", "none", (), (), ())
    return SearchResult("q", hits, "", 0, diagnostics)
