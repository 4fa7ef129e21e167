"""Values on which the passages disagree: the same thing said of the same subject, with another
number or date.

Precision comes first: a warning about nothing is worse than a missed one. Two statements conflict
only if they come from different documents, hold one value of the same kind each, say nearly the
same words around it, name no different subjects, years or qualifications, and are about what was
asked.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations

import regex

from .number_words import unit_of
from .requests import Evidence, StatedValue, Uncertainty
from .sources import passage_spans
from .values import Value, find_values
from .words import content_stems, stem, tokens

MAX_PASSAGES = 12
MAX_STATEMENTS = 400
MAX_SENTENCE = 400  # characters; longer ones say too much at once
MIN_SHARED = 0.6  # of the shorter statement's words
MIN_JACCARD = 0.4
MAX_CONFLICTS = 5

_NAME = regex.compile(r"(?<![\p{L}\p{N}])\p{Lu}[\p{L}\p{N}]*+|\p{L}++\p{N}[\p{L}\p{N}]*+")
_CODE = regex.compile(r"[`{}<>=]|https?:|::|\w\(|^\s*[#$|]")
_YEAR = regex.compile(r"(?:19|20)\d\d")
_COMPANY_FORMS = frozenset({"corp", "inc", "ltd", "llc", "plc", "gmbh", "ag", "se", "sa", "co"})
# Words that make two statements about different things, if only one has them.
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
class _Statement:
    evidence: Evidence
    value: Value
    number: Decimal | str  # in the smallest unit of its measure
    measure: str  # what it is a number of; only the same are compared
    words: frozenset[str]
    unit: frozenset[str]
    names: frozenset[str]
    years: frozenset[str]
    qualifiers: frozenset[str]


def find_conflicts(question: str, evidence: Sequence[Evidence]) -> tuple[Uncertainty, ...]:
    """Conflicts between passages, those of the best passages first."""
    asked = frozenset(content_stems(tokens(question)))
    statements: list[_Statement] = []
    for item in evidence[:MAX_PASSAGES]:
        statements += _statements(item)
    by_measure: dict[str, list[_Statement]] = {}
    for statement in statements[:MAX_STATEMENTS]:
        if (statement.words | statement.unit) & asked:
            by_measure.setdefault(statement.measure, []).append(statement)
    found: list[Uncertainty] = []
    for group in by_measure.values():
        for one, two in combinations(group, 2):
            if _disagree(one, two, asked) and not _is_settled(one, two, group):
                found.append(_conflict(one, two))
    return tuple(_without_repeats(found))[:MAX_CONFLICTS]


def _statements(item: Evidence) -> Iterator[_Statement]:
    text = item.text
    for start, end in passage_spans(text, language=item.hit.language or "en"):
        sentence = text[start:end]
        if end - start > MAX_SENTENCE or _CODE.search(sentence) or sentence.endswith("?"):
            continue
        values = find_values(sentence)
        for value in values:
            statement = _statement(item, start, sentence, value, values)
            if statement:
                yield statement


def _statement(
    item: Evidence, start: int, sentence: str, value: Value, values: Sequence[Value]
) -> _Statement | None:
    measured = _measure(value, sentence)
    if measured is None:
        return None
    measure, number = measured
    if sum((other_measure := _measure(v, sentence)) is not None and other_measure[0] == measure
           for v in values) > 1:  # fmt: skip
        return None  # "12 months, or 24 months with registration"
    around = sentence[: value.start] + " " * (value.end - value.start) + sentence[value.end :]
    stems = frozenset(content_stems(tokens(around)))
    unit = frozenset({stem(value.unit)} if unit_of(value.unit) else ())
    names = _names(around[: value.start] if measure in ("year", "date", "month") else around)
    years = frozenset(
        year for v in values if v is not value for year in _YEAR.findall(v.text)
    )  # fmt: skip
    moved = Value(
        value.kind, value.text, start + value.start, start + value.end, value.keys, value.unit
    )
    words = frozenset(w for w in stems if not w[0].isdecimal()) - unit
    plain = frozenset(token.text for token in tokens(around))
    return _Statement(item, moved, number, measure, words, unit, names, years, plain & _QUALIFIERS)


def _names(text: str) -> frozenset[str]:
    """Stems of capitalised words and identifiers, but for the one that opens the sentence."""
    words = (found[0].lower() for found in _NAME.finditer(text.lstrip(" -*•"), 1))
    return frozenset(stem(word) for word in words if word not in _COMPANY_FORMS)


def _measure(value: Value, sentence: str) -> tuple[str, Decimal | str] | None:
    """Kind of value with its unit, and the number in the smallest unit. None: not comparable."""
    if len(value.keys) != 1:
        return None
    (key,) = value.keys
    if value.kind in ("date", "month", "time", "version"):
        return value.kind, key
    if value.kind in ("percent", "money"):
        return f"{value.kind} {value.unit}", Decimal(key)
    if unit := unit_of(value.unit):
        return unit[0], Decimal(key) * unit[1]
    if value.is_word:
        return None
    before = sentence[: value.start].rstrip().lower()
    if _YEAR.fullmatch(value.text) and before.endswith(
        (" in", " since", " seit", " im jahr", " en")
    ):
        return "year", key
    if len(value.unit) > 2 and not _YEAR.fullmatch(value.text):
        return f"number of {stem(value.unit)}", Decimal(key)
    return None


def _disagree(one: _Statement, two: _Statement, asked: frozenset[str]) -> bool:
    if one.number == two.number or one.evidence.id == two.evidence.id:
        return False
    if _same_version(one.evidence, two.evidence):
        return False
    if one.years != two.years or one.qualifiers != two.qualifiers:
        return False
    if _different_subjects(one, two) or _different_subjects(two, one):
        return False
    shared = one.words & two.words
    if not (shared | one.unit & two.unit) & asked or not shared:
        return False
    smaller = min(len(one.words), len(two.words))
    if len(shared) < MIN_SHARED * smaller:
        return False
    return len(shared) >= MIN_JACCARD * len(one.words | two.words)


def _same_version(one: Evidence, two: Evidence) -> bool:
    """Within one document, other numbers are about other things."""
    return (
        one.hit.candidate.document_id == two.hit.candidate.document_id
        and one.hit.document_version == two.hit.document_version
    )


def _different_subjects(one: _Statement, two: _Statement) -> bool:
    """Whether the first names something that the other's sentence, title and section do not."""
    hit = two.evidence.hit
    place = content_stems(tokens(f"{hit.title} {hit.section}"))
    return any(name not in two.names and name not in two.words and name not in place
               for name in one.names)  # fmt: skip


def _is_settled(one: _Statement, two: _Statement, group: Sequence[_Statement]) -> bool:
    """Whether either passage states the other's value as well: then both have their place."""
    return any(
        (other.evidence.id == one.evidence.id and other.number == two.number)
        or (other.evidence.id == two.evidence.id and other.number == one.number)
        for other in group
    )


def _conflict(one: _Statement, two: _Statement) -> Uncertainty:
    told = [_told(statement) for statement in (one, two)]
    return Uncertainty(
        "conflict",
        f"The sources disagree: {told[0]} and {told[1]}.",
        values=tuple(_stated(statement) for statement in (one, two)),
    )


def _written(statement: _Statement) -> tuple[int, int]:
    """The value with its unit, where that is a word after it."""
    text, value = statement.evidence.text, statement.value
    end = value.end
    if value.kind == "number" and statement.measure != "year":
        place = text.lower().find(value.unit, end, end + len(value.unit) + 4)
        end = place + len(value.unit) if place >= 0 else end
    return value.start, end


def _told(statement: _Statement) -> str:
    hit = statement.evidence.hit
    text = statement.evidence.text[slice(*_written(statement))]
    name = hit.title or hit.section or hit.source_uri
    as_of = statement.evidence.as_of
    dated = f", as of {as_of.date().isoformat()}" if as_of else ""
    return f"“{' '.join(text.split())}” ({name}{dated})"


def _stated(statement: _Statement) -> StatedValue:
    start, end = _written(statement)
    offset = statement.evidence.hit.start
    return StatedValue(
        statement.evidence.text[start:end],
        statement.evidence.id,
        offset + start,
        offset + end,
        statement.evidence.as_of,
    )


def _without_repeats(found: Sequence[Uncertainty]) -> Iterator[Uncertainty]:
    """One conflict for each pair of values, however many passages repeat them."""
    seen: set[frozenset[str]] = set()
    for conflict in found:
        pair = frozenset(" ".join(value.text.lower().split()) for value in conflict.values)
        if pair not in seen:
            seen.add(pair)
            yield conflict
