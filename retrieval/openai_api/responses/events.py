"""The events of a streamed response, in the order that OpenAI's accumulator requires."""

import uuid
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

from retrieval.answering.requests import (
    AnswerEvent,
    AnswerResult,
    CheckedText,
    Event,
    Evidence,
    SourcesEvent,
    TextEvent,
)
from retrieval.openai_api.citing import CitationNumbers

from .requests import ResponseRequest
from .shapes import ResponseShape, Shape, annotations_of, text_part


class ResponseEvents:
    """Numbers the events, and collects what the last one repeats."""

    def __init__(
        self, namespace_id: uuid.UUID, request: ResponseRequest, numbers: CitationNumbers
    ) -> None:
        self._namespace_id = namespace_id
        self._shape = ResponseShape(request)
        self._numbers = numbers
        self._searches = request.file_search is not None
        self._sources: SourcesEvent | None = None
        self._output: list[Shape] = []  # items that are done
        self._sequence = count()
        self._is_writing = False
        self._text = ""
        self._annotations: list[Shape] = []

    def whole(self, result: AnswerResult) -> Shape:
        """Return the complete response, for clients that do not stream."""
        if self._searches:
            self.read_files(result.evidence)
            self._output.append(self._shape.search("completed", result.question, result.evidence))
        self._write(CheckedText(result.text, result.citations))
        self._output.append(self._message(result))
        return self._shape.ended(result, self._output)

    def read_files(self, evidence: Sequence[Evidence]) -> None:
        """Read the files' details from the database. The rest of this class reads nothing."""
        self._shape.read_attributes(self._namespace_id, evidence)

    def first(self) -> Iterator[Shape]:
        for status in ("created", "in_progress"):
            response = self._shape.response("in_progress", [])
            yield self._event(f"response.{status}", response=response)
        if self._searches:
            yield self._item("added", self._shape.search("in_progress"))
            yield self._search_event("in_progress")
            yield self._search_event("searching")

    def of(self, event: Event) -> Iterator[Shape]:
        match event:
            case SourcesEvent():
                self._sources = event
            case TextEvent(checked):
                yield from self._begun()
                yield from self._pieces(checked)
            case AnswerEvent(result):
                yield from self._begun()
                yield from self._end(result)

    def failed(self, error: Shape) -> Shape:
        return self._event("response.failed", response=self._shape.failed(self._output, error))

    def _begun(self) -> Iterator[Shape]:
        """The search has ended when writing begins; before that there may be a second search."""
        if self._is_writing:
            return
        self._is_writing = True
        if self._searches:
            question = self._sources.question if self._sources else ""
            evidence = self._sources.evidence if self._sources else ()
            search = self._shape.search("completed", question, evidence)
            yield self._search_event("completed")
            yield self._item("done", search)
            self._output.append(search)
        yield self._item("added", self._shape.message("in_progress", []))
        yield self._part_event("response.content_part.added", part=text_part("", []))

    def _pieces(self, checked: CheckedText) -> Iterator[Shape]:
        text, added = self._write(checked)
        if text:
            yield self._part_event("response.output_text.delta", delta=text, logprobs=[])
        first = len(self._annotations) - len(added)
        for number, annotation in enumerate(added, start=first):
            yield self._part_event(
                "response.output_text.annotation.added",
                annotation_index=number,
                annotation=annotation,
            )

    def _end(self, result: AnswerResult) -> Iterator[Shape]:
        yield self._part_event("response.output_text.done", text=self._text, logprobs=[])
        message = self._message(result)
        yield self._part_event("response.content_part.done", part=message["content"][0])
        yield self._item("done", message)
        self._output.append(message)
        ended = self._shape.ended(result, self._output)
        yield self._event(f"response.{ended['status']}", response=ended)

    def _write(self, checked: CheckedText) -> tuple[str, list[Shape]]:
        text, cited = self._numbers.feed(checked)
        added = [annotation for one in cited for annotation in annotations_of(one)]
        self._text += text
        self._annotations += added
        return text, added

    def _message(self, result: AnswerResult) -> Shape:
        status = "incomplete" if result.finish == "length" else "completed"
        return self._shape.message(status, [text_part(self._text, self._annotations)])

    def _search_event(self, name: str) -> Shape:
        return self._event(
            f"response.file_search_call.{name}", item_id=self._shape.search_id, output_index=0
        )

    def _item(self, name: str, item: Shape) -> Shape:
        index = len(self._output)
        return self._event(f"response.output_item.{name}", output_index=index, item=item)

    def _part_event(self, name: str, **fields: Any) -> Shape:
        return self._event(
            name,
            item_id=self._shape.message_id,
            output_index=len(self._output),
            content_index=0,
            **fields,
        )

    def _event(self, name: str, **fields: Any) -> Shape:
        return {"type": name, "sequence_number": next(self._sequence), **fields}
