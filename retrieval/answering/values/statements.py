"""Extract statements from passages: a value, its measure, and the words around it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

import regex

from retrieval.answering.checks.sources import passage_spans
from retrieval.answering.checks.words import content_stems, stem, tokens
from retrieval.answering.requests import Evidence

from .number_words import unit_of
from .values import YEAR, Value, find_values

MAX_SENTENCE = 400  # characters; longer sentences state too much at once
_DATED = ("year", "date", "month")
_CONNECTIVE = regex.compile(r"\s*(?:or|to|and|through|bis|oder|und|ou|et|à|o|y|a|[-–/,])\s*")

_NAME = regex.compile(r"(?<![\p{L}\p{N}])\p{Lu}[\p{L}\p{N}]*+|\p{L}++\p{N}[\p{L}\p{N}]*+")
# "Machine 3", "Section 12": a number that belongs to a name.
_LABEL = regex.compile(r"(?<![\p{L}\p{N}])(?P<word>\p{Lu}\p{L}*+)[ \u00a0]$")
_CODE = regex.compile(r"[`{}<>=]|https?:|::|\w\(|^\s*[#$|]")
_COMPANY_FORMS = frozenset({"corp", "inc", "ltd", "llc", "plc", "gmbh", "ag", "se", "sa", "co"})
# Words that change the subject of a statement if only one of the two has them.
_QUALIFYING = """
    minimum maximum least most first second third last next previous former new old older newer
    before after above below under over more less than only additional extra other another each
    every half quarter weekly daily monthly annual annually yearly total average default optional
    mandatory domestic international local remote internal external full part weekday weekend adult
    child single double early late some many few example without except unless not no never if when
    during until since north south east west upper lower left right male female men women high low
    increase decrease increased decreased rise fall up down between approximately estimated expected
    planned proposed mindestens höchstens maximal minimal ab bis nach vor ohne nur pro jährlich
    moins plus avant après sans mínimo máximo antes después sin
"""
_QUALIFIERS = frozenset(_QUALIFYING.split())


@dataclass(frozen=True, slots=True)
class Statement:
    """A value and its position in the passage's text."""

    evidence: Evidence
    value: Value
    number: Decimal | str  # in the smallest unit of its measure
    measure: str  # what it counts, "" if unclear; only equal measures are compared
    words: frozenset[str]  # stems around the value
    unit: frozenset[str]
    names: frozenset[str]
    labels: frozenset[str]  # "machine 3"
    years: frozenset[str]  # other than the value itself
    qualifiers: frozenset[str]
    template: tuple[str, ...]  # the sentence's words, with a gap for each value
    position: int  # among the sentence's values
    values: tuple[frozenset[str], ...]  # the meanings of all of them

    @property
    def is_sole(self) -> bool:
        return bool(self.measure)


def statements(item: Evidence) -> Iterator[Statement]:
    text = item.text
    for start, end in passage_spans(text, language=item.hit.language or "en"):
        sentence = text[start:end]
        is_prose = not _CODE.search(sentence) and not sentence.endswith("?")
        if is_prose and end - start <= MAX_SENTENCE:
            yield from _of_sentence(item, start, sentence)


def _of_sentence(item: Evidence, start: int, sentence: str) -> Iterator[Statement]:
    values = find_values(sentence)
    labels = _labels(values, sentence, f"{item.hit.title}\n{item.hit.section}".lower())
    measures = _measures(values, sentence)
    measures = [None if n in labels else found for n, found in enumerate(measures)]
    around = _blanked(sentence, values)
    found = tokens(around)
    template = tuple(token.text for token in found)
    stems = frozenset(word for word in content_stems(found) if not word[0].isdecimal())
    qualifiers = frozenset(template) & _QUALIFIERS
    for position, value in enumerate(values):
        if position in labels:
            continue
        kind, number = measures[position] or ("", min(value.keys))
        is_dated = kind in _DATED or YEAR.fullmatch(value.text) is not None
        others = [other for other in values if other is not value]
        if is_dated and _is_frame(around, value, others):
            continue
        # "12 months, or 24 months with registration": ambiguous.
        is_sole = sum(other is not None and other[0] == kind for other in measures) == 1
        unit = frozenset({stem(value.unit)} if unit_of(value.unit) else ())
        yield Statement(
            item,
            replace(value, start=start + value.start, end=start + value.end),
            number,
            kind if is_sole else "",
            stems - unit,
            unit,
            names_in(around[: value.start] if is_dated else around) - unit,
            frozenset(labels.values()),
            frozenset(year for other in others for year in YEAR.findall(other.text)),
            qualifiers,
            template,
            position,
            tuple(other.keys for other in values),
        )


def _labels(values: Sequence[Value], sentence: str, place: str) -> dict[int, str]:
    """Return the position of each number that belongs to a name, with this name.

    `place`: title and section, lower-case. At the beginning of a sentence every word is
    capitalised ("Add 3 eggs"), so there only a name that is in the place counts.
    """
    found = {}
    for position, value in enumerate(values):
        word = _LABEL.search(sentence[: value.start])
        is_plain = value.kind == "number" and value.text.isdecimal() and not value.is_word
        if word is None or not is_plain or YEAR.fullmatch(value.text) or unit_of(value.unit):
            continue
        label = f"{word['word']} {value.text}".lower()
        is_first = not sentence[: word.start()].strip(" -*•#")
        if not is_first or regex.search(rf"\b{regex.escape(label)}\b", place):
            found[position] = label
    return found


def _measures(values: Sequence[Value], sentence: str) -> list[tuple[str, Decimal | str] | None]:
    """In "12 or 24 months" both are months."""
    found = [measure(value, sentence) for value in values]
    for place in range(len(values) - 2, -1, -1):
        one, two = values[place], values[place + 1]
        following = found[place + 1]
        gap = sentence[one.end : two.start]
        if found[place] is None and following and _CONNECTIVE.fullmatch(gap.lower()):
            found[place] = following[0], min(one.keys)
    return found


def _blanked(sentence: str, values: Sequence[Value]) -> str:
    for value in values:
        gap = " " * (value.end - value.start)
        sentence = sentence[: value.start] + gap + sentence[value.end :]
    return sentence


def _is_frame(around: str, value: Value, others: Sequence[Value]) -> bool:
    """ "In July 2022, sales were …": a date that only says when."""
    if any(other.kind in ("money", "percent") for other in others):
        return True
    return not content_stems(tokens(around[: value.start]))


def names_in(text: str) -> frozenset[str]:
    """Return stems of capitalised words and identifiers, except the first word of the sentence."""
    words = (found[0].lower() for found in _NAME.finditer(text.lstrip(" -*•"), 1))
    return frozenset(stem(word) for word in words if word not in _COMPANY_FORMS)


def measure(value: Value, sentence: str) -> tuple[str, Decimal | str] | None:
    """Return the kind of value with its unit, and the number in the smallest unit, or None if not
    comparable."""
    if len(value.keys) > 1 and value.kind in ("date", "month", "version"):
        return None
    # 1,000 is far more often a thousand than one with three decimals.
    key = min(value.keys) if value.kind == "time" else max(value.keys, key=len)
    if value.kind in ("date", "month", "time", "version"):
        return value.kind, key
    if value.kind in ("percent", "money"):
        return f"{value.kind} {value.unit}", Decimal(key)
    if unit := unit_of(value.unit):
        return unit[0], Decimal(key) * unit[1]
    if value.is_word:
        return None
    before = sentence[: value.start].rstrip().lower()
    if YEAR.fullmatch(value.text) and before.endswith(
        (" in", " since", " seit", " im jahr", " en")
    ):
        return "year", key
    if len(value.unit) > 2 and not YEAR.fullmatch(value.text):
        return f"number of {stem(value.unit)}", Decimal(key)
    return None
