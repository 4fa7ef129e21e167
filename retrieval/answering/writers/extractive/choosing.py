"""Choose the units of an answer and their order."""

from collections.abc import Iterator, Sequence

from retrieval.answering.requests import Evidence

from .ranking import RankedUnit, Ranking
from .units import Unit
from .words import keys_of

MAX_CHOSEN = 3
CLOSE = 1.0  # maximum distance from the best score for another unit
CLOSE_PARTS = 3.0  # the same if the question has several parts
NEW_SHARE = 0.1  # fraction of the question's weight that another unit must add
ALIKE = 0.8  # fraction of shared words above which two units are duplicates


def choose(ranking: Ranking, evidence: Sequence[Evidence]) -> list[Unit]:
    """Return the best unit, and others only for words of the question that are still missing, in
    the order of the documents and their text."""
    chosen: list[RankedUnit] = []
    covered: set[str] = set()
    close = CLOSE_PARTS if len(ranking.question.kinds) > 1 else CLOSE
    for ranked in ranking.units:
        if chosen and ranked.score < chosen[0].score - close:
            break
        added = sum(ranking.question.weights[key] for key in ranked.keys - covered)
        adds_nothing = added < NEW_SHARE or ranked.unit.is_about_itself
        if chosen and (adds_nothing or _is_repeated(ranked, chosen, evidence)):
            continue
        chosen.append(ranked)
        covered |= ranked.keys
        if len(chosen) == MAX_CHOSEN:
            break
    return sorted((each.unit for each in chosen), key=lambda unit: _place(unit, evidence))


def distinct(ranking: Ranking, evidence: Sequence[Evidence]) -> Iterator[RankedUnit]:
    """Return the units best first, without those that repeat a better one."""
    shown: list[RankedUnit] = []
    for ranked in ranking.units:
        if not _is_repeated(ranked, shown, evidence):
            shown.append(ranked)
            yield ranked


def _is_repeated(
    ranked: RankedUnit, chosen: Sequence[RankedUnit], evidence: Sequence[Evidence]
) -> bool:
    return any(
        _overlap(ranked.unit, other.unit, evidence) or _is_alike(ranked.unit, other.unit)
        for other in chosen
    )


def _overlap(one: Unit, two: Unit, evidence: Sequence[Evidence]) -> bool:
    """Whether the core of either is part of the other, also in overlapping passages."""
    first, second = evidence[one.passage].hit, evidence[two.passage].hit
    if first.candidate.document_id != second.candidate.document_id:
        return False
    shift = first.start - second.start
    return any(
        core[0] + by < span[1] and span[0] < core[1] + by
        for core, spans, by in ((one.core, two.spans, shift), (two.core, one.spans, -shift))
        for span in spans
    )


def _is_alike(one: Unit, two: Unit) -> bool:
    words, others = set(keys_of(one.text)), set(keys_of(two.text))
    return len(words & others) >= ALIKE * max(1, min(len(words), len(others)))


def _place(unit: Unit, evidence: Sequence[Evidence]) -> tuple[int, int]:
    document = evidence[unit.passage].hit.candidate.document_id
    first = next(n for n, each in enumerate(evidence) if each.hit.candidate.document_id == document)
    return first, evidence[unit.passage].hit.start + unit.core[0]
