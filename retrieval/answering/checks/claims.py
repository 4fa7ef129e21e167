"""The sentences of a finished answer, and what each cites."""

from collections.abc import Sequence
from dataclasses import dataclass

import regex

from documents.text.boundaries import item_spans, line_spans, paragraph_spans
from documents.text.sentences import sentence_spans
from retrieval.answering.requests import Citation, Uncertainty

from .words import content_stems, tokens

MARKER_TEXT = regex.compile(r"\[cite:[^\[\]\s]{1,64}\]")
_HEADING = regex.compile(r"\s*(?:#{1,6}\s|(?:\*\*|__)[^*_]+(?:\*\*|__):?\s*$)")
_LIST_SIGN = regex.compile(r"\s*(?:>\s*)*(?:(?:[-*+•–]|\d{1,3}[.)]|\p{L}[.)])[ \t]+)?")
_TABLE_OR_HEADING = regex.compile(r"[ \t]*(?:\||#{1,6} )")
_WORD = regex.compile(r"[\p{L}\p{N}]")


@dataclass(frozen=True, slots=True)
class Sentence:
    start: int  # in the answer, after a list marker, without markers at its ends
    end: int
    text: str  # text[start:end] with markers blanked out
    citations: tuple[Citation, ...]


def without_markers(text: str) -> str:
    """Return text of the same length with markers blanked out."""
    return str(MARKER_TEXT.sub(lambda marker: " " * len(marker[0]), text))


def answer_sentences(
    text: str, citations: Sequence[Citation], *, language: str = "en"
) -> list[Sentence]:
    plain = without_markers(text)
    found: list[Sentence] = []
    for start, end in _spans(plain, language):
        if not _WORD.search(plain, start, end):
            continue
        cited = [c for c in citations if c.answer_start < end and start < c.answer_end]
        found.append(Sentence(start, end, plain[start:end], tuple(cited)))
    return found


def _spans(plain: str, language: str) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    for paragraph in paragraph_spans(plain, 0, len(plain)):
        for item in item_spans(plain, *paragraph):
            by_line = _TABLE_OR_HEADING.match(plain, *item)
            for start, end in line_spans(plain, *item) if by_line else [item]:
                if sign := _LIST_SIGN.match(plain, start, end):
                    start = sign.end()
                sentences = sentence_spans(plain[start:end], language=language)
                spans += [(start + low, start + high) for low, high in sentences]
    return spans


# A row above a line of dashes names the columns of the rows below, which are cited.
_TABLE_HEADER = regex.compile(r"^[ \t]*\|.*\|[ \t]*\n[ \t]*\|[ \t:|-]+\|[ \t]*$", regex.MULTILINE)


def needs_citation(sentence: str) -> bool:
    """Headings, lead-ins to lists and connecting phrases state nothing that could be checked."""
    stripped = sentence.strip().rstrip("*_ ")
    if _HEADING.match(sentence) or stripped.endswith((":", "：")):
        return False
    return bool(content_stems(tokens(sentence)))


def uncited_sentences(
    text: str, citations: Sequence[Citation], *, language: str = "en"
) -> tuple[Uncertainty, ...]:
    headers = [found.span() for found in _TABLE_HEADER.finditer(text)]
    return tuple(
        Uncertainty(
            "uncited",
            "This sentence names no source.",
            answer_start=sentence.start,
            answer_end=sentence.end,
        )
        for sentence in answer_sentences(text, citations, language=language)
        if not sentence.citations
        and needs_citation(sentence.text)
        and not any(start <= sentence.start < end for start, end in headers)
    )
