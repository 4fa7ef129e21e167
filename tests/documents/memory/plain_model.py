"""What memory should hold, in plain Python: statements painted on a calendar, day by day.

It shares no code with the rules.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from documents.memory.statements import StatedFact
from documents.models import FactAlias, FactStatement, Namespace, PredicateRule
from ragsite.database.tenancy import namespace

DAYS = 60
START = datetime(2024, 1, 1, tzinfo=UTC)
PLAIN_SUBJECTS = {"Ann": "ann", "ann ": "ann", "Acme Inc.": "acme", "ACME": "acme"}
PLAIN_PREDICATES = {"resides_in": "lives in"}


def day(number: int) -> datetime:
    return START + timedelta(days=number)


@dataclass
class Said:
    """A statement as the model keeps it."""

    user: str
    subject: str
    predicate: str
    value: Any
    first: int
    last: int | None  # exclusive; None: open
    certainty: float
    source: str
    order: int
    is_withdrawn: bool = False


@dataclass
class Model:
    said: list[Said] = field(default_factory=list)
    aliases: dict[str, str] = field(default_factory=dict)
    single: set[str] = field(default_factory=lambda: {"lives in", "plan"})

    def subject(self, name: str) -> str:
        plain = PLAIN_SUBJECTS.get(name, name.lower())
        return self.aliases.get(plain, plain)

    def slot(self, one: Said) -> tuple[str, str, str]:
        predicate = PLAIN_PREDICATES.get(one.predicate, one.predicate)
        return one.user, self.subject(one.subject), predicate

    def lines(self) -> dict[tuple[str, str, str], list[list[Said]]]:
        """By slot, the statements that share one line of time."""
        slots: dict[tuple[str, str, str], list[Said]] = {}
        for one in self.said:
            if not one.is_withdrawn:
                slots.setdefault(self.slot(one), []).append(one)
        return {
            slot: [several]
            if slot[2] in self.single
            else [
                [one for one in several if same(one.value) == value]
                for value in {same(one.value) for one in several}
            ]
            for slot, several in slots.items()
        }

    def cells(self) -> list[tuple[tuple[str, str, str], int, list[Said]]]:
        """Every (slot, day, statements that it follows from) on which something holds."""
        return [
            (slot, number, members)
            for slot, lines in self.lines().items()
            for line in lines
            for number, members in enumerate(painted(line))
            if members
        ]

    def holding(self, number: int) -> set[tuple[Any, ...]]:
        return {
            (*slot, same(members[0].value), certainty(members))
            for slot, day_number, members in self.cells()
            if day_number == number
        }


def same(value: Any) -> str:
    return str(value).lower()


def painted(line: list[Said]) -> list[list[Said] | None]:
    """Paint statements on the days, the earliest first, each over what was there from then on."""
    days: list[list[Said] | None] = [None] * DAYS
    for first in sorted({one.first for one in line}):
        today = sorted((one for one in line if one.first == first), key=lambda one: one.order)
        value = same(today[-1].value)
        before = days[first]
        members = before if before and same(before[0].value) == value else []
        members += [one for one in today if same(one.value) == value]
        ends = [one for one in members if one.last is not None]
        end = max(ends, key=lambda one: one.order).last if ends else DAYS
        for number in range(first, DAYS):
            days[number] = members if number < (end or DAYS) else None
    return days


def certainty(members: list[Said]) -> float:
    ordered = sorted(members, key=lambda one: one.order)
    value = ordered[0].certainty
    for one in ordered[1:]:
        doubt = (1 - value) * (1 - one.certainty / 2)
        value = round(max(value, one.certainty, min(0.99, 1 - doubt)), 6)
    return value


def as_stated(one: Said) -> StatedFact:
    return StatedFact(
        one.subject,
        one.predicate,
        one.value,
        certainty=one.certainty,
        user=one.user,
        source_uri=one.source,
        valid_from=day(one.first) if one.first else None,  # the first day stands for "since ever"
        valid_to=None if one.last is None else day(one.last),
    )


def model_of_what_is_stored(tenant: Namespace) -> Model:
    """Return the model of the statements, names and rules that are left."""
    model = Model()
    with namespace(tenant.pk):
        for order, row in enumerate(FactStatement.objects.order_by("stated_at", "pk")):
            model.said.append(
                Said(
                    row.user,
                    row.subject,
                    row.predicate,
                    row.object,
                    0 if row.valid_from is None else (row.valid_from - START).days,
                    None if row.valid_to is None else (row.valid_to - START).days,
                    row.certainty,
                    row.source_uri,
                    order,
                    is_withdrawn=row.withdrawn_at is not None,
                )
            )
        model.aliases = {row.alias_key: row.name_key for row in FactAlias.objects.all()}
        for rule in PredicateRule.objects.all():
            change = model.single.add if rule.is_single else model.single.discard
            change(rule.predicate_key)
    return model
