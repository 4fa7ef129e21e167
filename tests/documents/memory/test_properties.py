"""Thousands of random acts on memory against a plain model of its rules, and writers at once.

The model keeps the statements and paints them on a calendar, day by day: it shares no code with the
rules. `make test-memory` runs 10,000 acts, MEMORY_OPERATIONS as many as it says.
"""

import os
import random
import threading
import uuid
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection, connections

from documents.memory import correcting, rewriting
from documents.memory.erasing import ErasureSelection, erase
from documents.memory.reading import as_then, held
from documents.memory.rules.scope import FactScope
from documents.memory.statements import FactConflict, StatedFact
from documents.memory.writing import remember
from documents.models import (
    Fact,
    FactAlias,
    FactState,
    FactStatement,
    FactVector,
    Namespace,
    PredicateRule,
)
from ragsite.database.tenancy import namespace

OPERATIONS = int(os.environ.get("MEMORY_OPERATIONS", "300"))
CHECK_EVERY = 20
DAYS = 60
START = datetime(2024, 1, 1, tzinfo=UTC)
SUBJECTS = ("Ann", "ann ", "Acme Inc.", "ACME", "Bob", "Bobby")
SINGLE, SEVERAL = ("lives in", "resides_in", "plan"), ("likes", "speaks")
OBJECTS = ("red", "green", "Blue", "blue", 7)
USERS = ("", "u1")
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


class Run:
    """One random history, on the database and on the model."""

    def __init__(self, tenant: Namespace, seed: int) -> None:
        self.tenant, self.random, self.model = tenant, random.Random(seed), Model()
        self.alias_ids: dict[str, uuid.UUID] = {}
        self.snapshots: list[tuple[datetime, int, set[tuple[Any, ...]]]] = []

    def step(self) -> None:
        acts = [self.state] * 12 + [self.confirm] * 3 + [self.retract] * 2
        acts += [self.remember_snapshot] * 2 + [self.erase, self.alias, self.unalias, self.rule]
        self.random.choice(acts)()

    def statement(self) -> Said:
        pick, first = self.random.choice, self.random.randrange(DAYS - 1)
        last = self.random.randrange(first + 1, DAYS) if self.random.random() < 0.2 else None
        return Said(
            pick(USERS),
            pick(SUBJECTS),
            pick(SINGLE + SEVERAL),
            pick(OBJECTS),
            first,
            last,
            pick((0.3, 0.5, 0.8, 1.0)),
            pick(("a", "b", "c", "d")),
            len(self.model.said),
        )

    def state(self) -> None:
        batch = [self.statement() for _ in range(self.random.choice((1, 1, 3)))]
        for number, one in enumerate(batch):
            one.order += number
        remember(self.tenant.pk, [as_stated(one) for one in batch])
        self.model.said += batch

    def held_cell(self) -> tuple[Fact, list[Said]] | None:
        cells = self.model.cells()
        if not cells:
            return None
        (user, subject, predicate), number, members = self.random.choice(cells)
        with namespace(self.tenant.pk):
            facts = held(self.tenant.pk, FactScope(as_of=day(number)), day(number))
            (fact,) = [
                fact
                for fact in facts.filter(user=user, subject_key=subject, predicate_key=predicate)
                if same(fact.object) == same(members[0].value)
            ]
        return fact, members

    def confirm(self) -> None:
        if (chosen := self.held_cell()) is None:
            return
        fact, members = chosen
        correcting.confirm(self.tenant.pk, fact.pk, certainty=0.5, source_uri="confirmed")
        again = Said(
            fact.user,
            members[0].subject,
            members[0].predicate,
            members[0].value,
            min(one.first for one in members),
            None,
            0.5,
            "confirmed",
            len(self.model.said),
        )
        again.subject = min(members, key=lambda one: one.order).subject
        self.model.said.append(again)

    def retract(self) -> None:
        if (chosen := self.held_cell()) is None:
            return
        fact, members = chosen
        correcting.retract(self.tenant.pk, fact.pk)
        for one in members:
            one.is_withdrawn = True

    def erase(self) -> None:
        self.snapshots.clear()  # what was believed about erased statements is gone, too
        source = self.random.choice(("a", "b", "confirmed"))
        user = self.random.random() < 0.2
        selection = ErasureSelection(user="u1") if user else ErasureSelection(source_uri=source)
        erase(self.tenant.pk, selection)
        for one in list(self.model.said):
            if (one.user == "u1") if user else (one.source == source):
                self.model.said.remove(one)
        for number, one in enumerate(self.model.said):
            one.order = number

    def alias(self) -> None:
        if "bobby" not in self.model.aliases:
            self.snapshots.clear()  # facts are read under the names of today
            row = rewriting.set_alias(self.tenant.pk, kind="subject", alias="Bobby", name="bob")
            self.alias_ids["bobby"] = row.pk
            self.model.aliases["bobby"] = "bob"

    def unalias(self) -> None:
        if "bobby" in self.model.aliases:
            self.snapshots.clear()
            rewriting.remove_alias(self.tenant.pk, self.alias_ids.pop("bobby"))
            del self.model.aliases["bobby"]

    def rule(self) -> None:
        predicate, is_single = self.random.choice(("plan", "likes")), self.random.random() < 0.5
        set_single(self.tenant, predicate, is_single=is_single)
        (self.model.single.add if is_single else self.model.single.discard)(predicate)

    def remember_snapshot(self) -> None:
        with namespace(self.tenant.pk), connection.cursor() as cursor:
            cursor.execute("SELECT clock_timestamp()")
            now = cursor.fetchone()[0]
        number = self.random.randrange(DAYS)
        self.snapshots.append((now, number, self.model.holding(number)))

    def check(self) -> None:
        for number in self.random.sample(range(DAYS), 4):
            assert facts_on(self.tenant, number) == self.model.holding(number), number
        for known_at, number, believed in self.random.sample(
            self.snapshots, min(3, len(self.snapshots))
        ):
            assert facts_on(self.tenant, number, known_at=known_at) == believed
        with namespace(self.tenant.pk):
            provenances = FactStatement.objects.filter(withdrawn_at=None).count()
        assert provenances == sum(not one.is_withdrawn for one in self.model.said)


def set_single(tenant: Namespace, predicate: str, *, is_single: bool) -> None:
    rewriting.set_rule(tenant.pk, predicate=predicate, is_single=is_single, half_life_days=None)


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


def facts_on(
    tenant: Namespace, number: int, *, known_at: datetime | None = None
) -> set[tuple[Any, ...]]:
    scope = FactScope(as_of=day(number), known_at=known_at)
    with namespace(tenant.pk):
        facts = [as_then(fact) for fact in held(tenant.pk, scope, day(number))]
    rows = [(f.user, f.subject_key, f.predicate_key, same(f.object), f.certainty) for f in facts]
    assert len({row[:4] for row in rows}) == len(rows)  # nothing is held twice
    return set(rows)


@pytest.mark.parametrize("seed", range(max(1, OPERATIONS // 1000)))
def test_random_acts_leave_what_a_plain_model_says(tenant: Namespace, seed: int):
    run = Run(tenant, seed)
    for number in range(min(OPERATIONS, 1000)):
        run.step()
        if number % CHECK_EVERY == 0:
            run.check()
    run.check()


@pytest.mark.parametrize("acts", ["statements", "everything"])
def test_writers_at_once_leave_what_their_statements_say(tenant: Namespace, acts: str):
    """Whatever the order in which eight threads get through, the facts follow from it."""
    each = max(10, OPERATIONS // 40)
    failures: list[BaseException] = []

    def write(seed: int) -> None:
        writer = Writer(Run(tenant, 1000 + seed))
        try:
            for _ in range(each):
                writer.state() if acts == "statements" else writer.step()
        except BaseException as error:
            failures.append(error)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=write, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(1800)
    assert not failures
    model = model_of_what_is_stored(tenant)
    assert len(model.said) >= (8 * each if acts == "statements" else 1)
    for number in range(0, DAYS, 7):
        assert facts_on(tenant, number) == model.holding(number)


@dataclass
class Writer:
    """Random acts beside other writers, which may have changed a fact since it was read."""

    run: Run

    def step(self) -> None:
        acts = [self.state] * 8 + [self.confirm, self.retract] * 2
        acts += [self.rule, self.alias, self.unalias, self.erase]
        self.run.random.choice(acts)()

    def state(self) -> None:
        batch = [self.run.statement() for _ in range(self.run.random.choice((1, 2)))]
        remember(self.run.tenant.pk, [as_stated(one) for one in batch])

    def any_fact(self) -> uuid.UUID | None:
        with namespace(self.run.tenant.pk):
            known = list(Fact.objects.filter(retracted_at=None).values_list("pk", flat=True))
        return self.run.random.choice(known) if known else None

    def confirm(self) -> None:
        if (fact := self.any_fact()) is not None:
            with suppress(Fact.DoesNotExist, FactConflict):
                correcting.confirm(self.run.tenant.pk, fact, certainty=0.5, source_uri="confirmed")

    def retract(self) -> None:
        if (fact := self.any_fact()) is not None:
            with suppress(Fact.DoesNotExist, FactConflict):
                correcting.retract(self.run.tenant.pk, fact)

    def rule(self) -> None:
        predicate = self.run.random.choice(("plan", "likes"))
        set_single(self.run.tenant, predicate, is_single=self.run.random.random() < 0.5)

    def alias(self) -> None:
        rewriting.set_alias(self.run.tenant.pk, kind="subject", alias="Bobby", name="bob")

    def unalias(self) -> None:
        with namespace(self.run.tenant.pk):
            known = FactAlias.objects.first()
        if known is not None:
            with suppress(FactAlias.DoesNotExist):
                rewriting.remove_alias(self.run.tenant.pk, known.pk)

    def erase(self) -> None:
        erase(self.run.tenant.pk, ErasureSelection(source_uri=self.run.random.choice("abc")))


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


def test_the_same_statement_by_many_at_once_is_stored_once(tenant: Namespace):
    same_one = StatedFact("Ann", "likes", "tea", statement_id="s1")
    threads = [
        threading.Thread(target=lambda: (remember(tenant.pk, [same_one]), connections.close_all()))
        for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    with namespace(tenant.pk):
        assert FactStatement.objects.count() == 1
        assert Fact.objects.get().confirmations == 0


def test_everything_erased_leaves_nothing(tenant: Namespace):
    run = Run(tenant, 5)
    for _ in range(40):
        run.state()
    run.alias()
    run.retract()
    for source in ("a", "b", "c", "d", "confirmed"):
        erase(tenant.pk, ErasureSelection(source_uri=source))
    with namespace(tenant.pk):
        for model in (Fact, FactStatement, FactState, FactVector):
            assert not model.objects.exists(), model
