"""Check that the stored facts follow from their statements, for `manage.py verify`."""

import uuid
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from typing import Any

from django.db import connection

from documents.ingestion.revision import content_changed
from documents.models import Fact, FactStatement
from ragsite.database.tenancy import namespace

from . import vectors
from .naming import rules_of
from .rules.periods import periods_of
from .slots import as_stated, lock_names, lock_slots, moment, refresh, statements_in
from .statements import Changes, Slot
from .writing import in_one_transaction

PAGE = 200
# Keys are never blank, so the first page begins after three blank ones.
_SLOTS = """
    SELECT whose, subject_key, predicate_key FROM documents_factstatement
    WHERE namespace_id = %(namespace)s
      AND (whose, subject_key, predicate_key) > (%(user)s, %(subject_key)s, %(predicate_key)s)
    UNION
    SELECT whose, subject_key, predicate_key FROM documents_fact
    WHERE namespace_id = %(namespace)s AND source <> 'row'
      AND (whose, subject_key, predicate_key) > (%(user)s, %(subject_key)s, %(predicate_key)s)
    ORDER BY 1, 2, 3 LIMIT %(page)s
"""


def disagreeing(namespace_id: uuid.UUID) -> Iterator[uuid.UUID]:
    """Yield the id of one fact, or else statement, for each subject and predicate that disagree."""
    after = Slot("", "", "")
    while True:
        with namespace(namespace_id):
            slots = _slots_after(namespace_id, after)
            found = _compare(namespace_id, slots)
        yield from found
        if len(slots) < PAGE:
            return
        after = slots[-1]


def still_disagreeing(namespace_id: uuid.UUID, ids: Iterable[str]) -> set[uuid.UUID]:
    """Return which of these facts and statements belong to subjects that disagree."""
    with namespace(namespace_id):
        return set(_compare(namespace_id, _slots_of(namespace_id, ids)))


def work_out(namespace_id: uuid.UUID, ids: Iterable[str]) -> None:
    """Derive the facts of these subjects again, as after a change of an alias or a rule."""
    changes = Changes()

    def act() -> None:
        changes.clear()
        lock_names(namespace_id, exclusively=True)
        slots = set(_slots_of(namespace_id, ids))
        if slots:
            lock_slots(namespace_id, slots)
            refresh(namespace_id, slots, moment(namespace_id, slots), changes)
            content_changed(namespace_id)

    in_one_transaction(namespace_id, act)
    vectors.embed_facts(namespace_id, changes.without_vector)


def _slots_after(namespace_id: uuid.UUID, after: Slot) -> list[Slot]:
    with connection.cursor() as cursor:
        cursor.execute(_SLOTS, {"namespace": namespace_id, "page": PAGE, **after._asdict()})
        return [Slot(*row) for row in cursor.fetchall()]


def _slots_of(namespace_id: uuid.UUID, ids: Iterable[str]) -> list[Slot]:
    wanted = list(ids)
    return [
        Slot(*row)
        for model in (FactStatement, Fact)
        for row in model.objects.filter(namespace=namespace_id, pk__in=wanted)
        .order_by()
        .values_list("user", "subject_key", "predicate_key")
        .distinct()
    ]


def _compare(namespace_id: uuid.UUID, slots: Collection[Slot]) -> list[uuid.UUID]:
    """Return an id for each of the slots whose facts do not follow from its statements."""
    if not slots:
        return []
    statements: dict[Slot, list[FactStatement]] = defaultdict(list)
    for row in statements_in(namespace_id, slots):
        if row.is_approved and row.withdrawn_at is None:
            statements[Slot(row.user, row.subject_key, row.predicate_key)].append(row)
    facts: dict[Slot, list[Fact]] = defaultdict(list)
    held = Fact.objects.filter(
        namespace=namespace_id,
        subject_key__in={slot.subject_key for slot in slots},
        predicate_key__in={slot.predicate_key for slot in slots},
        status=Fact.Status.APPROVED,
        retracted_at=None,
    )
    for fact in held.exclude(source=Fact.Source.ROW).defer("words"):
        facts[Slot(fact.user, fact.subject_key, fact.predicate_key)].append(fact)
    rules = rules_of(namespace_id, {slot.predicate_key for slot in slots})
    return [
        (facts[slot] or statements[slot])[0].pk
        for slot in dict.fromkeys(slots)
        if not _agree(facts[slot], statements[slot], is_single=rules[slot.predicate_key].is_single)
    ]


def _agree(
    facts: Collection[Fact], statements: Collection[FactStatement], *, is_single: bool
) -> bool:
    rows = {row.pk: row for row in statements}
    follows = periods_of(map(as_stated, statements), is_single=is_single)
    # The expected facts with the possible wordings: a fact has the words of one of its statements.
    wanted = {
        (p.object_key, p.valid_from, p.valid_to, p.certainty, len(p.statements) - 1): [
            _words(rows[one.id]) for one in p.statements
        ]
        for p in follows
    }
    return (
        len(follows) == len(facts)
        and wanted.keys() == {_held(fact) for fact in facts}
        and all(_words(fact) in wanted[_held(fact)] for fact in facts)
    )


def _words(stated: Fact | FactStatement) -> tuple[Any, ...]:
    return (stated.subject, stated.predicate, stated.object)


def _held(fact: Fact) -> tuple[Any, ...]:
    return (fact.object_key, fact.valid_from, fact.valid_to, fact.certainty, fact.confirmations)
