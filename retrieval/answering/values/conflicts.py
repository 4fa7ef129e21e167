"""Find values on which the passages disagree: the same statement with another number or date.

Precision comes first: a false warning is worse than a missed one. Two statements conflict only if
they come from different documents, are about the question, and either have one value of the same
kind each with nearly the same words around it and no different subjects, years or qualifications,
or are the same sentence with one value changed.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from retrieval.answering.checks.words import content_stems, tokens
from retrieval.answering.requests import Evidence, StatedValue, Uncertainty

from .statements import Statement, names_in, statements
from .values import YEAR

MAX_PASSAGES = 12
MAX_STATEMENTS = 600
MIN_SHARED = 0.6  # of the shorter statement's words
MIN_JACCARD = 0.4
MIN_ASKED = 0.25  # of the question's words that both statements must share
MIN_TEMPLATE = 4  # minimum words of a sentence to compare as a template
MAX_CONFLICTS = 5
_OF_A_PERIOD = ("money", "percent", "number")  # other years' reports give other figures


def find_conflicts(question: str, evidence: Sequence[Evidence]) -> tuple[Uncertainty, ...]:
    """Return conflicts between passages, best passages first."""
    asked = frozenset(content_stems(tokens(question)))
    groups: dict[object, list[Statement]] = defaultdict(list)
    about = [item for item in evidence[:MAX_PASSAGES] if _is_about(item, names_in(question))]
    all_statements = [statement for item in about for statement in statements(item)]
    stated: dict[str, set[object]] = defaultdict(set)
    for statement in all_statements[:MAX_STATEMENTS]:
        stated[statement.evidence.id].add((statement.measure, statement.number))
        if (statement.words | statement.unit) & asked:
            groups[statement.template, statement.position].append(statement)
            if statement.is_sole:
                groups[statement.measure].append(statement)
    found = [
        _conflict(one, two)
        for group in groups.values()
        for one, two in combinations(group, 2)
        if _are_comparable(one, two, asked)
        and (_is_changed_copy(one, two) or _disagree(one, two))
        and not _is_settled(one, two, stated)
    ]
    return tuple(_without_repeats(found))[:MAX_CONFLICTS]


def _is_about(item: Evidence, names: frozenset[str]) -> bool:
    """Whether a passage mentions any of the names in the question."""
    hit = item.hit
    place = f"{hit.title}\n{hit.section}\n{hit.content}"
    return not names or not names.isdisjoint(content_stems(tokens(place)))


def _are_comparable(one: Statement, two: Statement, asked: frozenset[str]) -> bool:
    if one.number == two.number or _same_version(one.evidence, two.evidence):
        return False
    if one.labels and two.labels and one.labels.isdisjoint(two.labels):
        return False
    shared = one.words & two.words
    relevant = (shared | one.unit & two.unit) & asked
    if not shared or len(relevant) < max(1, MIN_ASKED * len(asked)):
        return False
    kind = one.measure.partition(" ")[0]
    return kind not in _OF_A_PERIOD or not _other_periods(one.evidence, two.evidence)


def _other_periods(one: Evidence, two: Evidence) -> bool:
    periods = [
        set(YEAR.findall(f"{item.hit.title} {item.hit.section} {item.hit.source_uri}"))
        for item in (one, two)
    ]
    return all(periods) and periods[0] != periods[1]


def _disagree(one: Statement, two: Statement) -> bool:
    if not one.is_sole or one.measure != two.measure:
        return False
    if one.years != two.years or one.qualifiers != two.qualifiers:
        return False
    if _different_subjects(one, two) or _different_subjects(two, one):
        return False
    shared = one.words & two.words
    smaller = min(len(one.words), len(two.words))
    if len(shared) < MIN_SHARED * smaller:
        return False
    return len(shared) >= MIN_JACCARD * len(one.words | two.words)


def _is_changed_copy(one: Statement, two: Statement) -> bool:
    """Whether only this value differs; with more differences it is another row of a series."""
    if len(one.values) != len(two.values) or len(one.template) < MIN_TEMPLATE:
        return False
    if one.template != two.template or _other_periods(one.evidence, two.evidence):
        return False
    return sum(a != b for a, b in zip(one.values, two.values, strict=True)) == 1


def _same_version(one: Evidence, two: Evidence) -> bool:
    """Within one document, different numbers are about different things."""
    return (
        one.hit.candidate.document_id == two.hit.candidate.document_id
        and one.hit.document_version == two.hit.document_version
    )


def _different_subjects(one: Statement, two: Statement) -> bool:
    """Whether the first names something that the other's sentence, title and section do not."""
    hit = two.evidence.hit
    place = content_stems(tokens(f"{hit.title} {hit.section}"))
    return any(name not in two.names and name not in two.words and name not in place
               for name in one.names)  # fmt: skip


def _is_settled(one: Statement, two: Statement, stated: Mapping[str, set[object]]) -> bool:
    """Whether either passage also states the other's value, so that both apply."""
    return (two.measure, two.number) in stated[one.evidence.id] or (
        one.measure,
        one.number,
    ) in stated[two.evidence.id]


def _conflict(one: Statement, two: Statement) -> Uncertainty:
    described = [_described(statement) for statement in (one, two)]
    return Uncertainty(
        "conflict",
        f"The sources disagree: {described[0]} and {described[1]}.",
        values=tuple(_stated(statement) for statement in (one, two)),
    )


def _written(statement: Statement) -> tuple[int, int]:
    """Return the value with its unit, if that is a word after it."""
    text, value = statement.evidence.text, statement.value
    end = value.end
    if value.kind == "number" and statement.measure != "year":
        place = text.lower().find(value.unit, end, end + len(value.unit) + 4)
        end = place + len(value.unit) if place >= 0 else end
    return value.start, end


def _described(statement: Statement) -> str:
    hit = statement.evidence.hit
    text = statement.evidence.text[slice(*_written(statement))]
    name = hit.title or hit.section or hit.source_uri
    as_of = statement.evidence.as_of
    dated = f", as of {as_of.date().isoformat()}" if as_of else ""
    return f"“{' '.join(text.split())}” ({name}{dated})"


def _stated(statement: Statement) -> StatedValue:
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
    """Keep one conflict per pair of values, however many passages repeat them."""
    seen: set[frozenset[str]] = set()
    for conflict in found:
        pair = frozenset(" ".join(value.text.lower().split()) for value in conflict.values)
        if pair not in seen:
            seen.add(pair)
            yield conflict
