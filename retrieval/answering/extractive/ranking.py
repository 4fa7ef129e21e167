"""Which unit answers best: a linear model over what features.py measures.

The weights were fitted on XQuAD-en; docs/decisions/0022-extractive-answers.md has the figures.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..requests import Evidence
from ..writers import Embed
from .features import NAMES, Measured, Question, measure
from .units import Unit, units_of

ScorePairs = Callable[[str, Sequence[str]], Sequence[float]]

MAX_UNITS = 400  # read of all passages
MAX_EMBEDDED = 64  # embedded, in one call
MAX_RERANKED = 8

WEIGHTS = {
    "bm25": 1.8, "coverage": 2.5, "around": 2.5, "pairs": 0.7, "cosine": 3.4, "relevance": 3.0,
    "first": 2.0, "offered": 0.8, "withheld": -0.8, "new_words": 0.5, "short": 0.6,
    "fragment": -0.2, "heading": 0.0, "row": 0.0,
}  # fmt: skip
_COSINE = NAMES.index("cosine")
_VECTOR = np.array([WEIGHTS[name] for name in NAMES])


@dataclass(frozen=True, slots=True)
class RankedUnit:
    unit: Unit
    score: float
    keys: frozenset[str]  # words of the question that it holds
    values: tuple[float, ...]  # in the order of features.NAMES


@dataclass(frozen=True, slots=True)
class Ranking:
    question: Question
    units: tuple[RankedUnit, ...]  # best first
    has_cosines: bool


def rank(
    question: str,
    evidence: Sequence[Evidence],
    *,
    language: str,
    embed: Embed | None = None,
    score_pairs: ScorePairs | None = None,
) -> Ranking:
    units: list[Unit] = []
    for passage, each in enumerate(evidence):
        if len(units) < MAX_UNITS:
            units += units_of(passage, each, language=language)
    measured = measure(question, units[:MAX_UNITS], evidence, language=language)
    scores = measured.values @ _VECTOR
    order = np.argsort(-scores, kind="stable")
    has_cosines = embed is not None and len(order) > 0
    if embed is not None and has_cosines:
        order = _by_meaning(question, units, measured, order[:MAX_EMBEDDED], embed)
        scores = measured.values @ _VECTOR
    ranked = [
        RankedUnit(units[n], float(scores[n]), measured.keys[n], tuple(measured.values[n].tolist()))
        for n in order
    ]
    if score_pairs is not None:
        ranked = _reranked(question, ranked, score_pairs)
    return Ranking(measured.question, tuple(ranked), has_cosines)


def _by_meaning(
    question: str, units: Sequence[Unit], measured: Measured, order: np.ndarray, embed: Embed
) -> np.ndarray:
    """Fill in the cosines of the best by their words, and give these in their new order."""
    vectors = np.asarray(embed([question, *(units[n].text for n in order)]), dtype=float)
    measured.values[order, _COSINE] = vectors[1:] @ vectors[0]
    scores = measured.values[order] @ _VECTOR
    return order[np.argsort(-scores, kind="stable")]


def _reranked(
    question: str, ranked: list[RankedUnit], score_pairs: ScorePairs
) -> list[RankedUnit]:
    """The first few in the order of a cross-encoder; the others stay behind them."""
    first = ranked[:MAX_RERANKED]
    scores = score_pairs(question, [each.unit.text for each in first])
    order = sorted(range(len(first)), key=lambda n: -scores[n])
    return [*(first[n] for n in order), *ranked[MAX_RERANKED:]]
