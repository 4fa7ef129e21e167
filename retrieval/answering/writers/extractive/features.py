"""What can be measured of a unit about a question."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from documents.text.lexemes import analysed
from retrieval.answering.requests import Evidence

from .answer_types import AnswerType, answer_types, asks_for_first, offers
from .units import Unit
from .words import content_words, is_unspaced, keys_of

K1, B = 1.2, 0.4  # BM25's saturation and length normalisation
# Characters that are compared at a time, whatever words they belong to.
GRAM, UNSPACED_GRAM = 4, 2
LEAST_TRUST = 0.3  # in a heading; otherwise as much as its passage is relevant
STEPS = 2.0  # for questions how to do something, the kind of answer counts more

NAMES = (
    "bm25",
    "coverage",  # the weight of the question's words that it holds
    "around",  # the same with its neighbours, title and section
    "surface",  # the share of all words of the question, as they are written
    "characters",  # the share of the question's runs of characters
    "cosine",
    "relevance",  # of its passage
    "type",  # 1: it has the kind of answer that is asked for, -1: it has not, 0: none is
    "neighbour",  # it takes the sentence before it along
    "fragment",
    "heading",  # the weight of the question's words that stand only in the heading above it
    "group",  # the weight of the words in the header or heading of a whole table or list
    "first",  # where that is asked for, 1: the first of a list, -1: all of a list
    "itself",  # it is about the page that it stands on
)


@dataclass(frozen=True, slots=True)
class Question:
    text: str
    words: Mapping[str, str]  # what it asks about: by key, as typed
    weights: Mapping[str, float]  # by key; they add up to 1
    found: frozenset[str]  # keys that stand in some unit, title or section
    kinds: frozenset[AnswerType] = frozenset()  # of answers that it asks for


@dataclass(frozen=True, slots=True)
class Measured:
    """One row for each unit, one column for each of NAMES. The cosines are filled in later."""

    question: Question
    keys: tuple[frozenset[str], ...]  # of the question's, in each unit
    values: np.ndarray


def measure(
    question: str, units: Sequence[Unit], evidence: Sequence[Evidence], *, language: str
) -> Measured:
    words = [keys_of(unit.compared) for unit in units]
    places = [frozenset(keys_of(f"{each.hit.title} {each.hit.section}")) for each in evidence]
    read = _question(question, words, places, language=language)
    average = sum(map(len, words)) / max(1, len(words)) or 1.0
    length = UNSPACED_GRAM if is_unspaced(question) else GRAM
    surface, grams = _surface(question), _grams(question, length)
    values = np.zeros((len(units), len(NAMES)))
    keys = []
    asked_first = asks_for_first(question)
    places_of = _places_of_words(units, words)
    for row, (unit, own) in enumerate(zip(units, words, strict=True)):
        present = read.words.keys() & set(own)
        near = set(keys_of(unit.context)) | places[unit.passage]
        relevance = _relevance(evidence[unit.passage], unit.passage)
        trust = max(LEAST_TRUST, relevance)
        values[row] = (
            _bm25(read, own, average),
            _weight(read, present),
            _weight(read, read.words.keys() & (near | present)),
            len(surface & _surface(unit.compared)) / max(1, len(surface)),
            len(grams & _grams(unit.compared, length)) / max(1, len(grams)),
            0.0,
            relevance,
            _type(unit.text, read.kinds, question),
            float(unit.has_neighbour),
            float(unit.is_fragment),
            _weight(read, (read.words.keys() & set(keys_of(unit.heading))) - present) * trust,
            _group(read, unit, frozenset(present), places_of[unit.passage]) * trust,
            float(unit.is_first) - float(unit.kind == "list") if asked_first else 0.0,
            float(unit.is_about_itself),
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
    shares = {key: weight / whole for key, weight in weights.items()}
    return Question(question, asked, shares, found, answer_types(question))


def _weight(question: Question, keys: set[str] | frozenset[str]) -> float:
    return sum(question.weights[key] for key in keys)


def _bm25(question: Question, own: Sequence[str], average: float) -> float:
    counts = Counter(key for key in own if key in question.words)
    length = K1 * (1 - B + B * len(own) / average)
    return sum(
        question.weights[key] * count * (K1 + 1) / (count + length) for key, count in counts.items()
    )


def _surface(text: str) -> set[str]:
    return {word.text for word in analysed(text)}


def _grams(text: str, length: int) -> set[str]:
    text = " ".join(text.lower().split())
    return {text[start : start + length] for start in range(len(text) - length + 1)}


def _places_of_words(
    units: Sequence[Unit], words: Sequence[Sequence[str]]
) -> Mapping[int, Counter[str]]:
    """By passage, in how many of its sentences, rows and items each word stands."""
    places: dict[int, Counter[str]] = {unit.passage: Counter() for unit in units}
    for unit, own in zip(units, words, strict=True):
        if not unit.topic:
            places[unit.passage].update(set(own))
    return places


def _group(
    question: Question, unit: Unit, present: frozenset[str], places: Mapping[str, int]
) -> float:
    """-1 if a word of the question stands in one row and nowhere else: that row is asked for."""
    if not unit.topic:
        return 0.0
    inside = (question.words.keys() & set(keys_of(unit.text))) - present
    return -1.0 if any(places[key] == 1 for key in inside) else _weight(question, present)


def _type(text: str, kinds: frozenset[AnswerType], question: str) -> float:
    if not kinds:
        return 0.0
    size = STEPS if "steps" in kinds else 1.0
    return size if any(offers(text, kind, question=question) for kind in kinds) else -size


def _relevance(evidence: Evidence, rank: int) -> float:
    """The passage's own; by its rank where it was not judged."""
    relevance = evidence.hit.relevance
    return 0.5 / (1 + rank) if relevance is None else relevance
