"""Rank the units with a linear model over the features of features.py.

The weights were fitted on XQuAD-en and two small sets of questions about handbooks and
documentation; docs/decisions/0022-extractive-answers.md has the numbers.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from retrieval.answering.requests import Evidence
from retrieval.answering.writers.base import Embed

from .features import NAMES, ParsedQuestion, measure
from .units import Unit, shown_text, units_of

ScorePairs = Callable[[str, Sequence[str]], Sequence[float]]

MAX_UNITS = 600  # in all passages
MAX_UNITS_OF_PASSAGE = 120  # so that no passage crowds out the others
MAX_EMBEDDED = 24  # best by words; with 16 or more the first three no longer change
MAX_RERANKED = 8

# Fitted on English, and on six languages together. `fragment`, `first` and `itself` were set by
# hand, because the judged texts have hardly any.
WITH_COSINES = {
    "bm25": 0.8, "coverage": 1.4, "around": 3.6, "surface": 2.1, "characters": 2.4, "cosine": 4.2,
    "relevance": 4.8, "type": 1.05, "neighbour": 0.9, "fragment": -0.2, "heading": 4.2,
    "group": 3.0, "first": 3.0, "itself": -6.0,
}  # fmt: skip
WORDS_ONLY = {
    "bm25": 1.75, "coverage": 1.6, "around": 4.55, "surface": 2.1, "characters": 4.25,
    "cosine": 0.0, "relevance": 2.45, "type": 0.8, "neighbour": 0.7, "fragment": -0.5,
    "heading": 3.0, "group": 3.0, "first": 3.0, "itself": -6.0,
}  # fmt: skip
_COSINE, _RELEVANCE = NAMES.index("cosine"), NAMES.index("relevance")
_WITH_COSINES = np.array([WITH_COSINES[name] for name in NAMES])
_WORDS_ONLY = np.array([WORDS_ONLY[name] for name in NAMES])


@dataclass(frozen=True, slots=True)
class RankedUnit:
    unit: Unit
    score: float
    keys: frozenset[str]  # words of the question in it


@dataclass(frozen=True, slots=True)
class Ranking:
    question: ParsedQuestion
    units: tuple[RankedUnit, ...]  # best first
    has_cosines: bool
    best_score: float = 0.0  # by the linear model, also where a cross-encoder changed the order
    relevance: float = 0.0  # of the most relevant passage


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
            units += units_of(passage, each, language=language)[:MAX_UNITS_OF_PASSAGE]
    units = units[:MAX_UNITS]
    measured = measure(question, units, evidence, language=language)
    scores = measured.values @ _WORDS_ONLY
    order = np.argsort(-scores, kind="stable")
    has_cosines = embed is not None and len(units) > 0
    if embed is not None and units:
        order = order[:MAX_EMBEDDED]
        texts = [_below_heading(units[n], evidence) for n in order]
        vectors = np.asarray(embed([question, *texts]), dtype=float)
        measured.values[order, _COSINE] = vectors[1:] @ vectors[0]
        scores = measured.values @ _WITH_COSINES
        order = order[np.argsort(-scores[order], kind="stable")]
    ranked = [RankedUnit(units[n], float(scores[n]), measured.keys[n]) for n in order]
    best_score = ranked[0].score if ranked else 0.0
    if score_pairs is not None:
        ranked = _reranked(question, ranked, evidence, score_pairs)
    relevance = float(measured.values[:, _RELEVANCE].max(initial=0.0))
    return Ranking(measured.question, tuple(ranked), has_cosines, best_score, relevance)


def _below_heading(unit: Unit, evidence: Sequence[Evidence]) -> str:
    """Return the shown text below its heading."""
    heading = unit.heading.strip("#=~ \t\n")
    shown = shown_text(unit, evidence)
    return f"{heading}: {shown}" if heading else shown


def _reranked(
    question: str,
    ranked: Sequence[RankedUnit],
    evidence: Sequence[Evidence],
    score_pairs: ScorePairs,
) -> list[RankedUnit]:
    """Put the first few in the order of a cross-encoder, and reassign their scores in that order;
    the others follow unchanged."""
    first = ranked[:MAX_RERANKED]
    judged = score_pairs(question, [shown_text(each.unit, evidence) for each in first])
    order = sorted(range(len(first)), key=lambda n: -judged[n])
    scores = [each.score for each in first]  # scores must descend in the new order
    moved = [replace(first[n], score=score) for n, score in zip(order, scores, strict=True)]
    return [*moved, *ranked[MAX_RERANKED:]]
