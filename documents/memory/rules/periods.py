"""From statements to periods: what holds from when to when, whatever the order of arrival.

A fact is a period in which an object holds. Periods follow from all statements about a subject and
a predicate: each is `valid_from` its statement until its end, or until another object follows it
where the predicate has one value at a time. So a late statement about an earlier time falls into
its place and supersedes nothing newer, and a retracted one leaves no trace in the others.
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
    """One statement. Null `valid_from`: since ever; null `valid_to`: until further notice."""

    id: uuid.UUID
    object_key: str
    valid_from: datetime | None
    valid_to: datetime | None
    certainty: float
    stated_at: datetime  # unique among the statements that are compared
    verified_at: datetime
    fact_id: uuid.UUID | None = None  # of which it is a provenance so far
    sets_certainty: bool = False  # a correction by hand: not raised, but set

    @property
    def begins(self) -> datetime:
        return self.valid_from or BEGINNING


@dataclass(frozen=True, slots=True)
class HeldPeriod:
    """An object that holds for a time, and the statements that say so, first stated first."""

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

    `is_single`: an object ends where another begins. At the same moment the later statement wins,
    as a correction; the statements that it replaces are in no period.
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
    """In order of validity, without those that another object replaces at the same moment."""
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
    """The end that was stated last; a statement without an end does not take one away."""
    ended = [one for one in run if one.valid_to is not None]
    return max(ended, key=lambda one: one.stated_at).valid_to if ended else None


def _earlier(one: datetime | None, other: datetime | None) -> datetime | None:
    if one is None or other is None:
        return one or other
    return min(one, other)


def assigned(
    periods: Sequence[HeldPeriod], held: Collection[uuid.UUID]
) -> list[tuple[HeldPeriod, uuid.UUID | None]]:
    """Pair each period with the fact that goes on in it, None for a new one.

    A fact goes on where its earliest statement is; a fact that is split keeps the earlier part.
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
    """Return how much of a fact is left: 1 when just verified, half of it after each half-life."""
    if half_life_days is None or age_days <= 0:
        return 1.0
    return float(0.5 ** (age_days / half_life_days))
