"""Server-sent events, read line by line and given types."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from .errors import ApiError, ConnectionFailed, RagsiteError, StreamBroken, error_in_stream
from .models import Answer, AnswerCitation, Job, Source


class Sources(BaseModel):
    """The passages that the answer is written from. A second one replaces the first."""

    query_id: str | None
    query: str
    question: str
    sources: list[Source]


@dataclass(frozen=True)
class Delta:
    """The next piece of text, already checked."""

    text: str


@dataclass(frozen=True)
class Cited:
    """A citation, after the piece with its marker."""

    citation: AnswerCitation


@dataclass(frozen=True)
class Finished:
    """The last event of an answer that was written."""

    answer: Answer


@dataclass(frozen=True)
class Failed:
    """The last event of an answer that was not: an error of the server, or a broken connection."""

    error: ApiError | ConnectionFailed


AnswerEvent = Sources | Delta | Cited | Finished | Failed
BROKEN = "The stream ended before the answer was finished."


class EventParser:
    """Lines in, (name, data) out. Comments, such as heartbeats, are dropped."""

    def __init__(self) -> None:
        self._name, self._data = "", list[str]()

    def feed(self, line: str) -> Iterator[tuple[str, Any]]:
        if line.startswith(":"):
            return
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "event":
            self._name = value
        elif field == "data":
            self._data.append(value)
        elif not line and self._data:
            name, data = self._name, json.loads("\n".join(self._data))
            self._name, self._data = "", []
            yield name, data


def answer_event(name: str, data: Any) -> AnswerEvent | None:
    """None: an event that this release does not know."""
    if name == "sources":
        return Sources.model_validate(data)
    if name == "delta":
        return Delta(data["text"])
    if name == "citation":
        return Cited(AnswerCitation.model_validate(data))
    if name == "answer":
        return Finished(Answer.model_validate(data))
    if name == "error":
        return Failed(error_in_stream(data))
    return None


def job_event(name: str, data: Any) -> tuple[Job, bool]:
    """The job, and whether it was the last event."""
    if name == "error":
        raise error_in_stream(data)
    return Job.model_validate(data), name == "end"


def answer_or_raise(last: AnswerEvent | None) -> Answer:
    if isinstance(last, Finished):
        return last.answer
    if isinstance(last, Failed):
        raise last.error
    raise RagsiteError("The stream was read or closed before.")


def broken() -> Failed:
    return Failed(StreamBroken(BROKEN))
