"""Training examples as JSON lines, in shapes that sentence-transformers' trainers read."""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from typing import Any

from .examples import Example, ExamplePassage


def json_lines(examples: Iterable[Example], shape: str) -> Iterator[str]:
    for example in examples:
        for row in SHAPES[shape](example):
            yield json.dumps(row, ensure_ascii=False) + "\n"


def _questions(example: Example) -> Iterator[dict[str, Any]]:
    """Yield one line per question, with all details of its texts."""
    yield {
        "question": example.question,
        "source": example.source,
        "filters": example.filters,
        "positives": [_described(passage) for passage in example.positives],
        "negatives": [_described(passage) for passage in example.negatives],
    }


def _described(passage: ExamplePassage) -> dict[str, Any]:
    return {name: value for name, value in asdict(passage).items() if value not in ("", None)}


def _triplets(example: Example) -> Iterator[dict[str, Any]]:
    """Yield the columns of MultipleNegativesRankingLoss and TripletLoss, and no others, because the
    trainers use every column as an input."""
    for positive in example.positives:
        for negative in example.negatives:
            yield {
                "anchor": example.question,
                "positive": positive.text,
                "negative": negative.text,
            }


def _lists(example: Example) -> Iterator[dict[str, Any]]:
    """Yield the columns of a cross-encoder's listwise losses, such as LambdaLoss."""
    if example.negatives:
        passages = [*example.positives, *example.negatives]
        yield {
            "query": example.question,
            "docs": [passage.text for passage in passages],
            "labels": [passage.grade for passage in passages],
        }


SHAPES: dict[str, Callable[[Example], Iterator[dict[str, Any]]]] = {
    "questions": _questions,
    "triplets": _triplets,
    "lists": _lists,
}
