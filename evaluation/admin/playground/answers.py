"""The answer written from a configuration's passages, with its citations as links."""

import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass

from documents.pages.links import passage_url
from ragsite.platform.errors import ApiError
from retrieval.answering.requests import AnswerRequest, AnswerResult, Citation
from retrieval.api.answers.runs import AnswerRun, whole_answer
from retrieval.requests import SearchRequest

MARKER = re.compile(r"\[cite:([^\]\s]+)\]")


@dataclass(frozen=True, slots=True)
class ShownPiece:
    """Text, or the number of a citation with the link that opens it."""

    text: str
    number: int = 0
    url: str = ""
    title: str = ""


@dataclass(frozen=True, slots=True)
class ShownAnswer:
    result: AnswerResult
    pieces: list[ShownPiece]
    sources: list[ShownPiece]


def write_answer(
    namespace_id: uuid.UUID, request: SearchRequest, *, base_url: str
) -> ShownAnswer | str:
    """Return the answer, or the message that says why there is none."""
    asked = AnswerRequest(search=request)
    try:
        result = whole_answer(AnswerRun(namespace_id, asked, door="playground"))
    except ApiError as error:
        return str(error)
    numbers = {evidence.id: place for place, evidence in enumerate(_cited(result), start=1)}
    links = {
        citation.id: _piece(namespace_id, citation, numbers[citation.id], base_url)
        for citation in result.citations
        if citation.id in numbers
    }
    sources = sorted(links.values(), key=lambda piece: piece.number)
    return ShownAnswer(result, list(_pieces(result.text, links)), sources)


def _cited(result: AnswerResult) -> list[Citation]:
    return list({citation.id: citation for citation in result.citations}.values())


def _piece(namespace_id: uuid.UUID, citation: Citation, number: int, base_url: str) -> ShownPiece:
    hit = citation.evidence.hit
    url = passage_url(
        namespace_id=namespace_id,
        document_id=hit.candidate.document_id,
        version=hit.document_version,
        start=citation.start,
        end=citation.end,
        base_url=base_url,
    )
    title = hit.title or hit.source_uri
    return ShownPiece(citation.cited_text, number, url, title)


def _pieces(text: str, links: dict[str, ShownPiece]) -> Iterator[ShownPiece]:
    at = 0
    for marker in MARKER.finditer(text):
        if marker[1] in links:
            yield ShownPiece(text[at : marker.start()])
            yield links[marker[1]]
            at = marker.end()
    yield ShownPiece(text[at:])
