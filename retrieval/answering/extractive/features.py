"""What can be measured of a unit about a question."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ..requests import Evidence
from .answer_types import answer_type, offers
from .units import Unit
from .words import content_words, keys_of

K1, B = 1.2, 0.4  # BM25's saturation and length normalisation
NEAR = 3  # words apart, for two words of the question to stand together

NAMES = (
    "bm25", "coverage", "around", "pairs", "cosine", "relevance", "first", "offered", "withheld",
    "new_words", "short", "fragment", "heading", "row",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Question:
    text: str
    words: Mapping[str, str]  # what it asks about: by key, as typed
    weights: Mapping[str, float]  # by key; they add up to 1
    found: frozenset[str]  # keys that stand in some unit, title or section


@dataclass(frozen=True, slots=True)
class Measured:
    """One row for each unit, one column for each of NAMES. The cosines are filled in later."""

    question: Question
    keys: tuple[frozenset[str], ...]  # of the question's, in each unit
    values: np.ndarray


def measure(
    question: str, units: Sequence[Unit], evidence: Sequence[Evidence], *, language: str
) -> Measured:
    words = [keys_of(unit.text) for unit in units]
    places = [
        frozenset(keys_of(f"{each.hit.title} {each.hit.section}")) for each in evidence
    ]
    read = _question(question, words, places, language=language)
    average = sum(map(len, words)) / max(1, len(words)) or 1.0
    kind = answer_type(question)
    values = np.zeros((len(units), len(NAMES)))
    keys = []
    for row, (unit, own) in enumerate(zip(units, words, strict=True)):
        place = places[unit.passage]
        present = read.words.keys() & set(own)
        near = set(keys_of(f"{unit.before} {unit.after}")) | place
        offered = bool(kind) and offers(unit.text, kind, question=question)
        values[row] = (
            _bm25(read, own, average),
            _weight(read, present),
            _weight(read, read.words.keys() & (near | present)),
            _pairs(read, own),
            0.0,
            _relevance(evidence[unit.passage], unit.passage),
            1.0 / (1 + unit.passage),
            float(offered),
            float(bool(kind) and not offered),
            min(1.0, len(set(own) - read.words.keys()) / 12),
            min(1.0, len(own) / 30),
            float(unit.is_fragment),
            _weight(read, read.words.keys() & place),
            float(unit.kind != "text"),
        )
        keys.append(frozenset(present))
    return Measured(read, tuple(keys), values)


def _question(
    question: str,
    words: Sequence[Sequence[str]],
    places: Sequence[frozenset[str]],
    *,
    language: str,
) -> Question:
    """Words weigh by how few of the units have them."""
    asked = content_words(question, language=language)
    having = Counter(key for own in words for key in set(own) if key in asked)
    total = len(words)
    weights = {
        key: math.log(1 + (total - having[key] + 0.5) / (having[key] + 0.5)) for key in asked
    }
    whole = sum(weights.values()) or 1.0
    found = frozenset(having) | {key for place in places for key in place if key in asked}
    return Question(
        question, asked, {key: weight / whole for key, weight in weights.items()}, found
    )


def _weight(question: Question, keys: set[str] | frozenset[str]) -> float:
    return sum(question.weights[key] for key in keys)


def _bm25(question: Question, own: Sequence[str], average: float) -> float:
    counts = Counter(key for key in own if key in question.words)
    length = K1 * (1 - B + B * len(own) / average)
    return sum(
        question.weights[key] * count * (K1 + 1) / (count + length)
        for key, count in counts.items()
    )


def _pairs(question: Question, own: Sequence[str]) -> float:
    """The share of neighbouring words of the question that stand near one another here."""
    asked = list(pairwise(question.words))
    if not asked:
        return 0.0
    at: dict[str, list[int]] = {}
    for position, key in enumerate(own):
        if key in question.words:
            at.setdefault(key, []).append(position)
    met = sum(
        any(abs(one - two) <= NEAR for one in at.get(first, ())[:8] for two in at.get(second, ())[:8])
        for first, second in asked
    )
    return met / len(asked)


def _relevance(evidence: Evidence, rank: int) -> float:
    """The passage's own; by its rank where it was not judged."""
    relevance = evidence.hit.relevance
    return 0.5 / (1 + rank) if relevance is None else relevance
