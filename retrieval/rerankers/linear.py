"""A linear model over the figures of the stages: its features, and its scores.

The same function computes the features in training and in searches.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

from retrieval.answering.writers.extractive.words import content_words, keys_of
from retrieval.rerankers.base import MAX_TEXT_LENGTH, RerankPassage, Standing

FEATURES = (
    "vector",  # cosine
    "lexical",  # BM25, as a part of the best among the passages
    "vector_rank",
    "lexical_rank",
    "fused",
    "fused_rank",
    "coverage",  # share of the question's words that the text has
    "adjacency",  # share of neighbouring words of the question that are neighbours in the text
    "title",  # coverage by the title
    "section",  # coverage by the headings
    "length",
    "recency",
)
NOT_FOUND = 200  # the rank of a passage that a leg did not find
YEAR_DAYS = 365.25
NOWHERE = Standing()


@dataclass(frozen=True, slots=True)
class LinearModel:
    weights: tuple[float, ...]
    means: tuple[float, ...]
    scales: tuple[float, ...]

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        """Raises ValueError if the data is not a model with these features."""
        if tuple(data.get("features", ())) != FEATURES:
            raise ValueError("The model has other features than this release; train it again.")
        columns = [tuple(map(float, data[name])) for name in ("weights", "means", "scales")]
        if any(len(column) != len(FEATURES) for column in columns):
            raise ValueError("The model needs one weight, mean and scale for each feature.")
        if not all(math.isfinite(value) for column in columns for value in column):
            raise ValueError("The model has a figure that is not finite.")
        if any(scale <= 0 for scale in columns[2]):
            raise ValueError("The scales of a model are positive.")
        return cls(*columns)

    def as_data(self) -> dict[str, Any]:
        return {"features": list(FEATURES), **{k: list(v) for k, v in asdict(self).items()}}

    def scores(self, rows: Sequence[Sequence[float]]) -> list[float]:
        return [
            sum(
                weight * (value - mean) / scale
                for weight, value, mean, scale in zip(
                    self.weights, row, self.means, self.scales, strict=True
                )
            )
            for row in rows
        ]


def features_of(query: str, passages: Sequence[RerankPassage]) -> list[list[float]]:
    """Return a row of FEATURES for each passage. Scores of the stages are relative to the other
    passages, because BM25 is not comparable between questions."""
    words = list(content_words(query[:MAX_TEXT_LENGTH], language=""))
    standings = [passage.standing or NOWHERE for passage in passages]
    best = max((s.lexical or 0.0 for s in standings), default=0.0)
    fused = [standing.fused for standing in standings]
    low, high = (min(fused), max(fused)) if fused else (0.0, 0.0)
    return [
        [
            passage.similarity or 0.0,
            (standing.lexical or 0.0) / best if best > 0 else 0.0,
            _closeness(standing.vector_rank),
            _closeness(standing.lexical_rank),
            (standing.fused - low) / (high - low) if high > low else 1.0,
            _closeness(standing.fused_rank or None),
            *_word_figures(words, passage.text[:MAX_TEXT_LENGTH]),
            _coverage(words, keys_of(standing.title)),
            _coverage(words, keys_of(standing.section)),
            math.log1p(len(passage.text)),
            _recency(standing.age_days),
        ]
        for passage, standing in zip(passages, standings, strict=True)
    ]


def _closeness(rank: int | None) -> float:
    """Return the closeness of a rank: higher is better, and the difference between 1 and 2 equals
    that between 10 and 20."""
    return -math.log2(min(rank or NOT_FOUND, NOT_FOUND))


def _word_figures(words: Sequence[str], text: str) -> tuple[float, float]:
    keys = keys_of(text)
    pairs = set(itertools.pairwise(words))
    found = pairs & set(itertools.pairwise(keys)) if pairs else set()
    return _coverage(words, keys), len(found) / len(pairs) if pairs else 0.0


def _coverage(words: Sequence[str], keys: Sequence[str]) -> float:
    return len(set(words) & set(keys)) / len(words) if words else 0.0


def _recency(age_days: float | None) -> float:
    """Return 1 for today and ½ after a year; an unknown date counts as a year ago."""
    return 0.5 if age_days is None else 1 / (1 + max(0.0, age_days) / YEAR_DAYS)
