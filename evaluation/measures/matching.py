"""Match hits with judgements, independently of how documents are chunked.

- A judgement on a document is met by any passage of that document.
- A judgement on a span is met by a passage that contains at least half of it, or of which at least
  half is inside it: overlap ≥ ½ · min(length of the span, length of the passage).

Measures count *units*, not passages. If a query is judged by documents alone, a document is one
unit with the rank of its first passage, as in BEIR. If any span is judged, each passage is a unit,
except one that only repeats what was already found, which is ignored. A passage that meets two
judgements is two consecutive units, the better one first.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

ENOUGH = 0.5


@dataclass(frozen=True, slots=True)
class Judged:
    """A judgement, reduced to what matching needs. Without start and end: the whole document."""

    name: str
    source_uri: str
    grade: int
    start: int | None = None
    end: int | None = None
    quote: str = ""
    part: int = 0  # part of the answer; see answers.py

    @property
    def is_span(self) -> bool:
        return self.start is not None


@dataclass(frozen=True, slots=True)
class RankedPassage:
    source_uri: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class RankingUnit:
    """One entry of the measured list: a judgement that was met, or an irrelevant result."""

    name: str
    passage: int  # index of the passage, from 0
    judged: Judged | None = None


def meets(passage: RankedPassage, judged: Judged) -> bool:
    if passage.source_uri != judged.source_uri:
        return False
    if judged.start is None or judged.end is None:
        return True
    overlap = min(passage.end, judged.end) - max(passage.start, judged.start)
    shorter = min(judged.end - judged.start, passage.end - passage.start)
    return overlap > 0 and overlap >= ENOUGH * shorter


def units_of(
    passages: Sequence[RankedPassage], judgements: Collection[Judged]
) -> list[RankingUnit]:
    """Return the ranking as units."""
    by_passage = any(judged.is_span for judged in judgements)
    by_source: dict[str, list[Judged]] = {}
    for judged in sorted(judgements, key=lambda judged: -judged.grade):
        by_source.setdefault(judged.source_uri, []).append(judged)
    units: list[RankingUnit] = []
    met: set[str] = set()
    seen: set[str] = set()
    for index, passage in enumerate(passages):
        here = [j for j in by_source.get(passage.source_uri, ()) if meets(passage, j)]
        fresh = [judged for judged in here if judged.name not in met]
        units += [RankingUnit(judged.name, index, judged) for judged in fresh]
        met |= {judged.name for judged in fresh}
        if not here and (by_passage or passage.source_uri not in seen):
            units.append(RankingUnit(f"other {index}", index))
        seen.add(passage.source_uri)
    return units


def as_run(units: Sequence[RankingUnit]) -> Mapping[str, float]:
    """Return scores without ties that keep the order, as ir-measures requires."""
    return {unit.name: float(len(units) - place) for place, unit in enumerate(units)}


def as_qrels(judgements: Collection[Judged]) -> Mapping[str, int]:
    return {judged.name: judged.grade for judged in judgements}
