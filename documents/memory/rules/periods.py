"""Derive periods of validity from statements, independently of their order of arrival.

A fact is a period in which an object is valid. Periods follow from all statements about a subject
and a predicate. Each begins at its statement's `valid_from` and lasts until its end or, if the
predicate has one value at a time, until another object begins. So a late statement about an earlier
time is inserted in its place and supersedes nothing newer, and a retracted one has no effect on the
others.
"""

import uuid
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby

BEGINNING = datetime.min.replace(tzinfo=UTC)
MAX_CONFIRMED = 0.99  # certainty that confirmations alone can reach
CONFIRMATION_GAIN = 0.5  # of the remaining doubt that a wholly certain confirmation removes


@dataclass(frozen=True, slots=True)
class Stated:
    """One statement. A null `valid_from` means always, a null `valid_to` until further notice."""

    id: uuid.UUID
    object_key: str
    valid_from: datetime | None
    valid_to: datetime | None
    certainty: float
    stated_at: datetime  # unique among the statements that are compared
    verified_at: datetime
    fact_id: uuid.UUID | None = None  # the fact that it currently belongs to
    sets_certainty: bool = False  # a correction by hand replaces the certainty

    @property
    def begins(self) -> datetime:
        return self.valid_from or BEGINNING


@dataclass(frozen=True, slots=True)
class HeldPeriod:
    """A period in which an object is valid, and its statements, the earliest stated first."""

    object_key: str
    valid_from: datetime | None
    valid_to: datetime | None
    statements: tuple[Stated, ...]

    @property
    def certainty(self) -> float:
        certainty = self.statements[0].certainty
        for statement in self.statements[1:]:
            by = statement.certainty
            certainty = by if statement.sets_certainty else raised(certainty, by)
        return certainty

    @property
    def verified_at(self) -> datetime:
        return max(statement.verified_at for statement in self.statements)


def raised(certainty: float, by: float) -> float:
    """Return the certainty after a confirmation: never lower, and bounded."""
    confirmed = min(MAX_CONFIRMED, 1 - (1 - certainty) * (1 - CONFIRMATION_GAIN * by))
    return round(max(certainty, by, confirmed), 6)


def periods_of(statements: Iterable[Stated], *, is_single: bool) -> list[HeldPeriod]:
    """Return the periods that follow from all statements about one subject and predicate.

    With `is_single` an object ends when another one begins. Of statements with the same
    `valid_from` the later one wins, as a correction; the statements that it replaces are in no
    period.
    """
    if is_single:
        return _timeline(statements)
    by_object = sorted(statements, key=lambda one: one.object_key)
    return [
        period
        for _, same in groupby(by_object, key=lambda one: one.object_key)
        for period in _timeline(same)
    ]


def _timeline(statements: Iterable[Stated]) -> list[HeldPeriod]:
    runs: list[list[Stated]] = []
    for statement in _uncorrected(statements):
        if runs and _continues(runs[-1], statement):
            runs[-1].append(statement)
        else:
            runs.append([statement])
    next_begins = [*(run[0].valid_from for run in runs[1:]), None]
    return [
        HeldPeriod(
            run[0].object_key,
            run[0].valid_from,
            _earlier(_end(run), until),
            tuple(sorted(run, key=lambda one: one.stated_at)),
        )
        for run, until in zip(runs, next_begins[: len(runs)], strict=True)
    ]


def _uncorrected(statements: Iterable[Stated]) -> list[Stated]:
    """Return statements in order of validity, without those that a statement of another object
    replaces at the same moment."""
    ordered = sorted(statements, key=lambda one: (one.begins, one.stated_at))
    kept: list[Stated] = []
    for _, together in groupby(ordered, key=lambda one: one.begins):
        same_moment = list(together)
        winner = same_moment[-1].object_key
        kept += [one for one in same_moment if one.object_key == winner]
    return kept


def _continues(run: Sequence[Stated], statement: Stated) -> bool:
    if run[0].object_key != statement.object_key:
        return False
    end = _end(run)
    return end is None or statement.begins < end


def _end(run: Sequence[Stated]) -> datetime | None:
    """Return the end that was stated last; a statement without an end does not remove one."""
    ended = [one for one in run if one.valid_to is not None]
    return max(ended, key=lambda one: one.stated_at).valid_to if ended else None


def _earlier(one: datetime | None, other: datetime | None) -> datetime | None:
    if one is None or other is None:
        return one or other
    return min(one, other)


def assigned(
    periods: Sequence[HeldPeriod], held: Collection[uuid.UUID]
) -> list[tuple[HeldPeriod, uuid.UUID | None]]:
    """Pair each period with the existing fact that continues in it, or None for a new one.

    A fact continues in the period of its earliest statement; a fact that is split keeps the earlier
    part.
    """
    taken: set[uuid.UUID] = set()
    paired = []
    for period in sorted(periods, key=lambda one: one.statements[0].stated_at):
        known = (one.fact_id for one in period.statements if one.fact_id in held)
        own = next((fact_id for fact_id in known if fact_id and fact_id not in taken), None)
        if own is not None:
            taken.add(own)
        paired.append((period, own))
    return paired


def decay(age_days: float, half_life_days: float | None) -> float:
    """Return the factor for a fact's age: 1 if just verified, halved after each half-life."""
    if half_life_days is None or age_days <= 0:
        return 1.0
    return float(0.5 ** (age_days / half_life_days))
