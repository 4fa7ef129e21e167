"""Write statements: `remember` stores them, and every other operation on facts is in this module or
next to it.

Each operation is one short transaction that locks the slots it writes to, and is repeated if it
conflicts with another transaction. Vectors are computed afterwards, outside of it.
"""

import logging
import uuid
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, NamedTuple, TypeVar

from django.db import IntegrityError, OperationalError
from psycopg import errors

from documents.accounts import audit
from documents.accounts.audit import Target
from documents.ingestion.revision import content_changed
from documents.models import Fact, FactStatement, Namespace
from ragsite.database.tenancy import namespace

from . import vectors
from .naming import Naming, naming_for
from .rules.rendering import plain
from .slots import lock_names, lock_slots, moment, refresh, store_words
from .statements import (
    Changes,
    FactConflict,
    Outcome,
    Slot,
    StatedFact,
    What,
    begins_at,
    require_sound,
)
from .turns import with_turns

logger = logging.getLogger(__name__)

T = TypeVar("T")

MAX_TRIES = 5
_CONFLICTS = (errors.SerializationFailure, errors.DeadlockDetected, errors.UniqueViolation)
Status = Fact.Status


def remember(
    namespace_id: uuid.UUID, statements: Sequence[StatedFact], *, is_approved: bool = True
) -> list[Outcome]:
    """Store statements and the facts that follow from them, all or none; return the result of each.

    With `is_approved=False` they become proposals, which change nothing until `approve`. Call it
    outside of transactions. Raises InvalidStatement.
    """
    changes = Changes()
    outcomes = in_one_transaction(
        namespace_id, lambda: _remember(namespace_id, statements, changes, is_approved=is_approved)
    )
    vectors.embed_facts(namespace_id, changes.without_vector)
    logger.info("memory.stated", extra={"statements": len(statements)})
    return outcomes


def in_one_transaction(namespace_id: uuid.UUID, act: Callable[[], T]) -> T:
    """Run `act` inside namespace(); repeat it if it conflicts with another transaction."""
    for _ in range(MAX_TRIES - 1):
        with suppress(_TryAgain):
            return _once(namespace_id, act)
    return _once(namespace_id, act, is_last_try=True)


class _TryAgain(Exception):
    """Another transaction was in conflict with this one."""


def _once(namespace_id: uuid.UUID, act: Callable[[], T], *, is_last_try: bool = False) -> T:
    try:
        with namespace(namespace_id):
            return act()
    except (IntegrityError, OperationalError) as error:
        if is_last_try or not isinstance(error.__cause__, _CONFLICTS):
            raise
        raise _TryAgain from None


def _remember(
    namespace_id: uuid.UUID,
    statements: Sequence[StatedFact],
    changes: Changes,
    *,
    is_approved: bool,
) -> list[Outcome]:
    changes.clear()
    lock_names(namespace_id)
    statements = with_turns(statements)
    naming = naming_for(
        namespace_id,
        names=[name for each in statements for name in (each.subject, each.object)],
        predicates=[each.predicate for each in statements],
    )
    slots = [naming.slot(each.user, each.subject, each.predicate) for each in statements]
    lock_slots(namespace_id, slots)
    known = _known(namespace_id, statements)
    at = moment(namespace_id, set(slots))
    outcomes = []
    for ordinal, (statement, slot) in enumerate(zip(statements, slots, strict=True)):
        content = StatedContent(slot, naming.object(statement.object))
        if statement.statement_id in known:
            fact_id, stored = known[statement.statement_id]
            _require_same(statement.statement_id, stored, content)
            outcomes.append(Outcome(fact_id, "known", at))
            continue
        stated_at = at + timedelta(microseconds=ordinal)
        require_sound(statement, stated_at)
        store = _store if is_approved else _propose
        outcome = store(namespace_id, statement, slot, naming, stated_at, changes)
        outcomes.append(outcome)
        if statement.statement_id:
            known[statement.statement_id] = outcome.fact_id, content
    if any(outcome.what != "known" for outcome in outcomes):
        content_changed(namespace_id)
    return outcomes


class StatedContent(NamedTuple):
    """The content of a statement, by its keys."""

    slot: Slot
    object_key: str


def _known(
    namespace_id: uuid.UUID, statements: Iterable[StatedFact]
) -> dict[str, tuple[uuid.UUID, StatedContent]]:
    """Return the client's ids of statements that were stored before, with their facts."""
    ids = [each.statement_id for each in statements if each.statement_id]
    if not ids:
        return {}
    found = FactStatement.objects.filter(namespace=namespace_id, statement_id__in=ids)
    rows = found.values_list("statement_id", "fact_id", *Slot._fields, "object_key")
    return {id_: (fact_id, StatedContent(Slot(*slot), key)) for id_, fact_id, *slot, key in rows}


def _require_same(statement_id: str, stored: StatedContent, given: StatedContent) -> None:
    """Raise InvalidStatement if an id is used for a different statement, which would otherwise be
    lost."""
    if stored != given:
        shown = statement_id if len(statement_id) <= 50 else f"{statement_id[:50]}…"
        raise FactConflict(f"The statement_id {shown!r} belongs to another statement already.")


def _store(
    namespace_id: uuid.UUID,
    statement: StatedFact,
    slot: Slot,
    naming: Naming,
    at: datetime,
    changes: Changes,
) -> Outcome:
    before = len(changes.closed)
    row = _insert(namespace_id, statement, slot, naming, at)
    refresh(namespace_id, [slot], at, changes)
    row.refresh_from_db(fields=["fact"])
    fact_id: uuid.UUID = row.fact_id  # type: ignore[assignment]  # every new statement has a fact
    is_new = fact_id in changes.created
    described: dict[str, Any] = {"source": statement.source} if is_new else {}
    if statement.tags:
        tags = Fact.objects.values_list("tags", flat=True).get(pk=fact_id)
        described["tags"] = list(dict.fromkeys([*tags, *statement.tags]))
    if described:
        Fact.objects.filter(pk=fact_id).update(**described)
    closed = tuple(pk for pk in changes.closed[before:] if pk != fact_id)
    return Outcome(fact_id, "created" if is_new else "confirmed", at, row.pk, closed)


def _insert(
    namespace_id: uuid.UUID,
    statement: StatedFact,
    slot: Slot,
    naming: Naming,
    at: datetime,
    **more: Any,
) -> FactStatement:
    place = statement.place
    return FactStatement.objects.create(
        namespace_id=namespace_id,
        **slot._asdict(),
        object_key=naming.object(statement.object),
        kind=statement.kind,
        subject=statement.subject.strip(),
        predicate=statement.predicate.strip(),
        object=statement.object,
        certainty=statement.certainty,
        valid_from=begins_at(statement, at),
        valid_to=statement.valid_to,
        stated_at=at,
        verified_at=at,
        source_uri=statement.source_uri,
        statement_id=statement.statement_id,
        document_id=place.document_id if place else None,
        version_id=place.version_id if place else None,
        start=place.start if place else None,
        end=place.end if place else None,
        conversation_id=statement.conversation_id,
        turn_id=statement.turn_id,
        **more,
    )


# -- proposals ---------------------------------------------------------------------------


def _propose(
    namespace_id: uuid.UUID,
    statement: StatedFact,
    slot: Slot,
    naming: Naming,
    at: datetime,
    changes: Changes,
) -> Outcome:
    """Store a proposal, unless the same fact or proposal exists."""
    same = Fact.objects.filter(
        namespace=namespace_id,
        **slot._asdict(),
        object_key=naming.object(statement.object),
        retracted_at=None,
        valid_to=None,
        status__in=(Status.APPROVED, Status.PROPOSED),
    ).first()
    if same is not None:
        return Outcome(same.pk, "known", at)
    fact = Fact.objects.create(
        namespace_id=namespace_id,
        **slot._asdict(),
        object_key=naming.object(statement.object),
        subject=statement.subject.strip(),
        predicate=statement.predicate.strip(),
        object=statement.object,
        certainty=statement.certainty,
        tags=list(dict.fromkeys(statement.tags)),
        source=statement.source,
        source_uri=statement.source_uri,
        status=Status.PROPOSED,
        valid_from=begins_at(statement, at),
        valid_to=statement.valid_to,
        recorded_at=at,
        believed_since=at,
        last_verified_at=at,
    )
    language = Namespace.objects.values_list("language", flat=True).get(pk=namespace_id)
    store_words({fact.pk: plain(fact.subject, fact.predicate, fact.object)}, language)
    row = _insert(namespace_id, statement, slot, naming, at, fact=fact, is_approved=False)
    return Outcome(fact.pk, "proposed", at, row.pk)


def approve(namespace_id: uuid.UUID, fact_id: uuid.UUID) -> Outcome:
    """Turn a proposal into a fact as of now, or into a confirmation of an existing one. Raises
    Fact.DoesNotExist, and FactConflict if it is not an open proposal."""
    changes = Changes()

    def act() -> Outcome:
        changes.clear()
        proposal = locked_fact(namespace_id, fact_id, status=Status.PROPOSED)
        at = moment(namespace_id, {slot_of(proposal)})
        statements = FactStatement.objects.filter(fact=proposal)
        statement_id = statements.values_list("pk", flat=True)[0]
        statements.update(is_approved=True, stated_at=at, verified_at=at)
        refresh(namespace_id, [slot_of(proposal)], at, changes, adopting=proposal)
        kept = FactStatement.objects.values_list("fact", flat=True).get(pk=statement_id)
        audit.record("fact.approve", target=Target("fact", str(fact_id)))
        content_changed(namespace_id)
        what: What = "created" if kept == fact_id else "confirmed"
        closed = tuple(pk for pk in changes.closed if pk not in (fact_id, kept))
        return Outcome(kept or fact_id, what, at, statement_id, closed)

    outcome = in_one_transaction(namespace_id, act)
    vectors.embed_facts(namespace_id, changes.without_vector)
    return outcome


def reject(namespace_id: uuid.UUID, fact_id: uuid.UUID) -> None:
    """Reject a proposal. Raises Fact.DoesNotExist and FactConflict."""

    def act() -> None:
        proposal = locked_fact(namespace_id, fact_id, status=Status.PROPOSED)
        Fact.objects.filter(pk=proposal.pk).update(status=Status.REJECTED)
        audit.record("fact.reject", target=Target("fact", str(fact_id)))

    in_one_transaction(namespace_id, act)


def slot_of(fact: Fact) -> Slot:
    return Slot(fact.user, fact.subject_key, fact.predicate_key)


def held_fact(namespace_id: uuid.UUID, fact_id: uuid.UUID) -> Fact:
    with namespace(namespace_id):
        fact = Fact.objects.get(pk=fact_id)
        _require(fact, Status.APPROVED)
        return fact


def locked_fact(
    namespace_id: uuid.UUID, fact_id: uuid.UUID, *, status: str = Status.APPROVED
) -> Fact:
    """Lock the slot of a fact, and read the fact again. Inside namespace()."""
    lock_names(namespace_id)
    lock_slots(namespace_id, [slot_of(Fact.objects.get(pk=fact_id))])
    fact = Fact.objects.get(pk=fact_id)
    _require(fact, status)
    return fact


def _require(fact: Fact, status: str) -> None:
    if fact.source == Fact.Source.ROW:
        raise FactConflict("A fact of a table's row changes with its document only.")
    if fact.status != status:
        raise FactConflict(f"The fact is {fact.status}, not {status}.")
    if fact.retracted_at is not None:
        raise FactConflict("The fact has been retracted.")
