"""Questions whose answers are exact excerpts of a corpus, and the published scores over them.

The scores are those of "Evaluating Chunking Strategies for Retrieval" (Smith and Troynikov, 2024):
found text is the union of overlaps between retrieved and wanted text; retrieved text counts each
time it is retrieved, so that overlapping chunks are penalised for repetition. As published, lengths
are in characters.
"""

import csv
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class ExcerptQuestion:
    text: str
    corpus: str
    excerpts: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Retrieved:
    corpus: str
    span: Span


@dataclass(frozen=True, slots=True)
class Scores:
    recall: float
    precision: float
    iou: float


def load_corpora(data: Path) -> dict[str, str]:
    return {path.stem: path.read_text() for path in sorted((data / "corpora").glob("*.md"))}


def load_questions(data: Path) -> list[ExcerptQuestion]:
    with (data / "questions_df.csv").open(newline="") as file:
        return [_question(row) for row in csv.DictReader(file)]


def _question(row: dict[str, str]) -> ExcerptQuestion:
    excerpts = tuple(
        (int(reference["start_index"]), int(reference["end_index"]))
        for reference in json.loads(row["references"])
    )
    return ExcerptQuestion(row["question"], row["corpus_id"], excerpts)


def score(question: ExcerptQuestion, retrieved: Sequence[Retrieved]) -> Scores:
    here = [chunk.span for chunk in retrieved if chunk.corpus == question.corpus]
    found = _length(_union(_overlap(a, b) for a in here for b in question.excerpts))
    missed = _length(_union(question.excerpts)) - found
    wanted = _length(question.excerpts)
    fetched = _length(chunk.span for chunk in retrieved)
    return Scores(found / wanted, found / fetched, found / (fetched + missed))


def _overlap(one: Span, other: Span) -> Span:
    start = max(one[0], other[0])
    return start, max(start, min(one[1], other[1]))


def _union(spans: Iterable[Span]) -> list[Span]:
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _length(spans: Iterable[Span]) -> int:
    return sum(end - start for start, end in spans)
