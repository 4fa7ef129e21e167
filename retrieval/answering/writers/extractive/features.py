"""Features of a unit with respect to a question."""

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
# Length of the character n-grams, which may cross words.
GRAM, UNSPACED_GRAM = 4, 2
MIN_TRUST = 0.3  # minimum trust in a heading; otherwise the relevance of its passage
STEPS = 2.0  # for how-to questions, the kind of answer counts more

NAMES = (
    "bm25",
    "coverage",  # the weight of the question's words in it
    "around",  # the same including its neighbours, title and section
    "surface",  # the fraction of all words of the question, as written
    "characters",  # the fraction of the question's character n-grams
    "cosine",
    "relevance",  # of its passage
    "type",  # 1: has the requested kind of answer, -1: has not, 0: no kind requested
    "neighbour",  # includes the previous sentence
    "fragment",
    "heading",  # the weight of the question's words that are only in the heading above it
    "group",  # the weight of the words in the header or heading of a whole table or list
    "first",  # if the question asks for the first: 1: the first of a list, -1: a whole list
    "itself",  # it is about its own page
)


@dataclass(frozen=True, slots=True)
class ParsedQuestion:
    text: str
    words: Mapping[str, str]  # content words by key, as typed
    weights: Mapping[str, float]  # by key; the sum is 1
    found: frozenset[str]  # keys that occur in any unit, title or section
    kinds: frozenset[AnswerType] = frozenset()  # of the requested answers


@dataclass(frozen=True, slots=True)
class UnitFeatures:
    """One row per unit, one column per name in NAMES. The cosines are filled in later."""

    question: ParsedQuestion
    keys: tuple[frozenset[str], ...]  # of the question that are in each unit
    values: np.ndarray


def measure(
    question: str, units: Sequence[Unit], evidence: Sequence[Evidence], *, language: str
) -> UnitFeatures:
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
        trust = max(MIN_TRUST, relevance)
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
    return UnitFeatures(read, tuple(keys), values)


def _question(
    question: str,
    words: Sequence[Sequence[str]],
    places: Sequence[frozenset[str]],
    *,
    language: str,
) -> ParsedQuestion:
    """Words weigh more if fewer units have them."""
    asked = content_words(question, language=language)
    counts = Counter(key for unit in words for key in set(unit) if key in asked)
    total = len(words)
    weights = {
        key: math.log(1 + (total - counts[key] + 0.5) / (counts[key] + 0.5)) for key in asked
    }
    weight_sum = sum(weights.values()) or 1.0
    found = frozenset(counts) | {key for place in places for key in place if key in asked}
    shares = {key: weight / weight_sum for key, weight in weights.items()}
    return ParsedQuestion(question, asked, shares, found, answer_types(question))


def _weight(question: ParsedQuestion, keys: set[str] | frozenset[str]) -> float:
    return sum(question.weights[key] for key in keys)


def _bm25(question: ParsedQuestion, words: Sequence[str], average: float) -> float:
    counts = Counter(key for key in words if key in question.words)
    length = K1 * (1 - B + B * len(words) / average)
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
    """Count, per passage, the sentences, rows and items that contain each word."""
    places: dict[int, Counter[str]] = {unit.passage: Counter() for unit in units}
    for unit, own in zip(units, words, strict=True):
        if not unit.topic:
            places[unit.passage].update(set(own))
    return places


def _group(
    question: ParsedQuestion, unit: Unit, present: frozenset[str], places: Mapping[str, int]
) -> float:
    """-1 if a word of the question is in one row only: the question is about that row."""
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
    """The passage's relevance, or a value by its rank if it was not judged."""
    relevance = evidence.hit.relevance
    return 0.5 / (1 + rank) if relevance is None else relevance
