"""The built-in writer: rank the units of the evidence, then abstain or cite the best of them."""

import threading
from collections.abc import Iterator, Sequence
from itertools import pairwise, zip_longest

from documents.language_models.base import AnswerPiece, Cancelled, Usage
from documents.text.sentences import sentence_spans
from retrieval.answering.requests import Evidence
from retrieval.answering.writers.base import NotEnoughInformation, WritingTask

from .blocks import blocks_of
from .choosing import choose
from .confidence import confidence, missing_words
from .ranking import Ranking, ScorePairs, rank
from .units import Unit, is_claim


class ExtractiveWriter:
    """`embedding_languages` are those that the embedding model supports; sentences in others are
    compared by words alone. None means all. The bundled model supports English.

    `score_pairs` lets a cross-encoder order the best units: it takes the question and texts, and
    returns one score per text.
    """

    identity = "extractive"

    def __init__(
        self,
        *,
        embedding_languages: Sequence[str] | None = ("en",),
        score_pairs: ScorePairs | None = None,
    ) -> None:
        self.embedding_languages = embedding_languages
        self.score_pairs = score_pairs

    def rank(self, task: WritingTask) -> Ranking:
        """Return all units, best first, from which the answer is chosen."""
        languages = self.embedding_languages
        is_read = languages is None or task.language in languages
        return rank(
            task.question,
            task.evidence,
            language=task.language,
            embed=task.embed if is_read else None,
            score_pairs=self.score_pairs,
        )

    def write(
        self, task: WritingTask, *, deadline: float, cancelled: threading.Event
    ) -> Iterator[AnswerPiece]:
        """Yield one piece per unit. Never abstains if `min_relevance` is 0."""
        if cancelled.is_set():
            raise Cancelled
        ranking = self.rank(task)
        if not ranking.units or confidence(ranking, language=task.language) < task.min_relevance:
            raise NotEnoughInformation("", words=missing_words(ranking.question))
        if cancelled.is_set():
            raise Cancelled
        for text in _texts(choose(ranking, task.evidence), task.evidence, task.language):
            yield AnswerPiece(text)
        yield AnswerPiece(finish="stop", usage=Usage(0, 0))


def _texts(units: Sequence[Unit], evidence: Sequence[Evidence], language: str) -> Iterator[str]:
    """Return each unit verbatim, with its markers. A header or lead-in that was just shown is not
    repeated."""
    shown: set[tuple[object, int]] = set()
    for number, unit in enumerate(units):
        source = evidence[unit.passage]
        document, offset = source.hit.candidate.document_id, source.hit.start
        parts = [unit.header] if unit.header else []
        for start, end in unit.spans:
            if (document, offset + start) not in shown:
                parts.append(source.text[start:end])
            shown.add((document, offset + start))
        gap = _gap(units[number - 1], unit) if number else ""
        spoken = source.hit.language or language
        yield gap + _cited("\n".join(parts), f"[cite:{source.id}]", language=spoken)


def _cited(text: str, marker: str, *, language: str) -> str:
    """Insert the marker after each sentence, row and piece of code in the text."""
    ends: list[tuple[int, str]] = []
    for block in blocks_of(text):
        if block.kind == "code":  # after a closing fence it would become part of the code
            ends.append((block.end, f"\n{marker}"))
        elif block.kind == "row":
            ends.append((len(text[: block.end].rstrip()), f" {marker}"))
        elif block.kind in ("text", "item"):
            inside = text[block.start : block.end]
            ends += [
                (block.start + end, f" {marker}")
                for start, end in sentence_spans(inside, language=language)
                if is_claim(inside[start:end])
            ]
    if not ends:  # only a lead-in, or an odd row
        ends.append((len(text), f" {marker}"))
    edges = [0, *(end for end, _ in ends), len(text)]
    between = [text[start:end] for start, end in pairwise(edges)]
    return "".join(a + b for a, b in zip_longest(between, [mark for _, mark in ends], fillvalue=""))


def _gap(before: Unit, unit: Unit) -> str:
    if before.kind != unit.kind or len(before.spans) > 1:
        return "\n\n"
    return " " if unit.kind == "text" else "\n"
