"""Bring the stored facts of a slot in line with its statements. Call every function inside
namespace()."""

import uuid
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import connection
from django.db.models import Exists, OuterRef, Q

from documents.models import Fact, FactState, FactStatement, FactVector, Namespace
from documents.text.languages import configuration
from documents.text.lexemes import prepare

from .naming import rules_of
from .rules.periods import HeldPeriod, Stated, assigned, periods_of
from .rules.rendering import plain
from .statements import Changes, Slot

_NAMES = "SELECT pg_advisory_xact_lock{shared}(hashtextextended('memory names ' || %s, 0))"
_SLOTS = """
    SELECT pg_advisory_xact_lock(hashtextextended(key, 0))
    FROM unnest(%s::text[]) WITH ORDINALITY wanted (key, nth) ORDER BY nth
"""

_WORDS = """
    UPDATE documents_fact SET words = to_tsvector('simple', given.words)
                                   || to_tsvector(%(language)s::regconfig, given.words)
    FROM unnest(%(ids)s::uuid[], %(words)s::text[]) AS given (id, words)
    WHERE documents_fact.id = given.id
"""

# temporary end of facts that move between slots; never committed
PARKED = datetime(9999, 12, 1, tzinfo=UTC)


def lock_names(namespace_id: uuid.UUID, *, exclusively: bool = False) -> None:
    """Lock aliases and rules until the transaction ends: shared to keep them unchanged, exclusive
    to change them."""
    with connection.cursor() as cursor:
        shared = "" if exclusively else "_shared"
        cursor.execute(_NAMES.format(shared=shared), [str(namespace_id)])


def lock_slots(namespace_id: uuid.UUID, slots: Iterable[Slot]) -> None:
    """Lock these slots until the transaction ends, always in the same order to avoid deadlocks."""
    keys = sorted({"\x1f".join(("memory", str(namespace_id), *slot)) for slot in slots})
    with connection.cursor() as cursor:
        cursor.execute(_SLOTS, [keys])


def moment(namespace_id: uuid.UUID, slots: Collection[Slot]) -> datetime:
    """Return the current time, later than anything stored in these slots. Not now(), which is the
    start of the transaction, before it waited for its locks."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        at: datetime = cursor.fetchone()[0]
    known = statements_in(namespace_id, slots).values_list("stated_at", flat=True)
    latest = known.order_by("-stated_at").first()
    return at if latest is None or at > latest else latest + timedelta(microseconds=1)


def statements_in(namespace_id: uuid.UUID, slots: Collection[Slot]) -> Any:
    """Return all statements in these slots, including retracted ones and proposals."""
    found = FactStatement.objects.filter(
        namespace=namespace_id,
        subject_key__in={slot.subject_key for slot in slots},
        predicate_key__in={slot.predicate_key for slot in slots},
    )
    return found if len(slots) > 1 else found.filter(user__in={slot.user for slot in slots})


@dataclass(frozen=True, slots=True)
class _Refresh:
    """Values that are the same for all slots of one operation."""

    namespace_id: uuid.UUID
    at: datetime
    language: str
    changes: Changes
    adopting: Fact | None
    parked: frozenset[uuid.UUID]


def refresh(
    namespace_id: uuid.UUID,
    slots: Collection[Slot],
    at: datetime,
    changes: Changes,
    *,
    adopting: Fact | None = None,
) -> None:
    """Derive the facts of these slots again, which must be locked, and store the differences.
    `adopting` is a proposal of the slot whose statements have just been approved."""
    rules = rules_of(namespace_id, {slot.predicate_key for slot in slots})
    language = Namespace.objects.values_list("language", flat=True).get(pk=namespace_id)
    parked = _park(namespace_id, slots) if len(slots) > 1 else frozenset()
    act = _Refresh(namespace_id, at, language, changes, adopting, parked)
    for slot in sorted(set(slots)):
        _refresh(act, slot, is_single=rules[slot.predicate_key].is_single)


def _park(namespace_id: uuid.UUID, slots: Collection[Slot]) -> frozenset[uuid.UUID]:
    """Close open facts temporarily and return them: while facts move between slots, the same fact
    may be stored in one slot before it has left the other."""
    wanted = set(slots)
    open_facts = Fact.objects.filter(
        namespace=namespace_id,
        subject_key__in={slot.subject_key for slot in wanted},
        predicate_key__in={slot.predicate_key for slot in wanted},
        status=Fact.Status.APPROVED,
        retracted_at=None,
        valid_to=None,
    ).exclude(source=Fact.Source.ROW)
    ids = [fact.pk for fact in open_facts.defer("words") if _slot_of(fact) in wanted]
    Fact.objects.filter(pk__in=ids).update(valid_to=PARKED)
    return frozenset(ids)


def _refresh(act: _Refresh, slot: Slot, *, is_single: bool) -> None:
    rows = {
        row.pk: row
        for row in FactStatement.objects.filter(
            **slot._asdict(), namespace=act.namespace_id, is_approved=True, withdrawn_at=None
        )
    }
    facts = _facts_of(act, slot, rows.values())
    if act.adopting is not None:
        facts[act.adopting.pk] = act.adopting
    paired = assigned(periods_of(map(as_stated, rows.values()), is_single=is_single), facts)
    going_on = {fact_id: period for period, fact_id in paired if fact_id is not None}
    # First store what ends, so that the same fact is never valid twice, not even temporarily.
    for fact_id in [pk for pk in facts if pk not in going_on]:
        _retire(act, facts[fact_id], slot, _heir(fact_id, rows.values(), paired))
    for fact_id, period in sorted(going_on.items(), key=lambda item: item[1].valid_to is None):
        _bring_in_line(act, facts[fact_id], slot, period, rows[period.statements[0].id])
    for period, known in paired:
        kept = known or _create(act, slot, rows[period.statements[0].id], period)
        moved = [one.id for one in period.statements if one.fact_id != kept]
        FactStatement.objects.filter(pk__in=moved).update(fact=kept)


def supporting(fact: Fact, *, is_single: bool) -> list[uuid.UUID]:
    """Return the statements that a fact follows from, without corrected ones."""
    rows = FactStatement.objects.filter(
        **_slot_of(fact)._asdict(),
        namespace=fact.namespace_id,
        is_approved=True,
        withdrawn_at=None,
    )
    periods = periods_of(map(as_stated, rows), is_single=is_single)
    return [one.id for period in periods for one in period.statements if one.fact_id == fact.pk]


def _facts_of(act: _Refresh, slot: Slot, rows: Collection[FactStatement]) -> dict[uuid.UUID, Fact]:
    """Return the facts that currently belong to this slot's statements.

    After a change of aliases a fact belongs to the slot of all its statements, whatever its own
    keys; one whose statements were separated stays in its slot.
    """
    here = Q(**slot._asdict())
    inside = {row.fact_id for row in rows if row.fact_id}
    held = Fact.objects.filter(
        here | Q(pk__in=inside),
        namespace=act.namespace_id,
        status=Fact.Status.APPROVED,
        retracted_at=None,
    ).exclude(source=Fact.Source.ROW)
    elsewhere = FactStatement.objects.filter(
        ~here, namespace=act.namespace_id, fact=OuterRef("pk"), is_approved=True, withdrawn_at=None
    )
    found: dict[uuid.UUID, Fact] = {
        fact.pk: fact
        for fact in held.defer("words").annotate(is_elsewhere=Exists(elsewhere))
        if not fact.is_elsewhere or (fact.pk in inside and _slot_of(fact) == slot)
    }
    for fact in found.values():
        if fact.valid_to == PARKED:
            fact.valid_to = None
    return found


def _slot_of(fact: Fact) -> Slot:
    return Slot(fact.user, fact.subject_key, fact.predicate_key)


def as_stated(row: FactStatement) -> Stated:
    return Stated(
        id=row.pk,
        object_key=row.object_key,
        valid_from=row.valid_from,
        valid_to=row.valid_to,
        certainty=row.certainty,
        stated_at=row.stated_at,
        verified_at=row.verified_at,
        fact_id=row.fact_id,
        sets_certainty=row.kind == FactStatement.Kind.CORRECTION,
    )


def _heir(
    fact_id: uuid.UUID,
    rows: Iterable[FactStatement],
    paired: Iterable[tuple[HeldPeriod, uuid.UUID | None]],
) -> uuid.UUID | None:
    """Return the fact in which a statement of this one continued."""
    own = {row.pk for row in rows if row.fact_id == fact_id}
    homes = (home for period, home in paired if any(one.id in own for one in period.statements))
    return next(homes, None)


def _retire(act: _Refresh, fact: Fact, slot: Slot, heir: uuid.UUID | None) -> None:
    """End a fact that is no longer supported by any statement."""
    ended: dict[str, Any] = {**slot._asdict(), "retracted_at": act.at, "superseded_by": heir}
    if fact.status == Fact.Status.PROPOSED:
        ended |= _adopted(act.at)
    if fact.pk in act.parked:
        ended["valid_to"] = None
    Fact.objects.filter(pk=fact.pk).update(**ended)
    act.changes.closed.append(fact.pk)


def _adopted(at: datetime) -> dict[str, Any]:
    """Approve a proposal: it is believed from now on."""
    return {"status": Fact.Status.APPROVED, "recorded_at": at, "believed_since": at}


def _bring_in_line(
    act: _Refresh, fact: Fact, slot: Slot, period: HeldPeriod, first: FactStatement
) -> None:
    wanted = {**slot._asdict(), "object_key": period.object_key, **_text_of(first)}
    held = _fields_of(period)
    changed = {k: v for k, v in (wanted | held).items() if getattr(fact, k) != v}
    is_proposal = fact.status == Fact.Status.PROPOSED
    if is_proposal:
        changed |= _adopted(act.at)
        act.changes.created.append(fact.pk)
    elif changed.keys() & held.keys():
        _keep_past_state(fact, act.at)
        changed["believed_since"] = act.at
        if fact.valid_to is None and period.valid_to is not None:
            act.changes.closed.append(fact.pk)
    if fact.pk in act.parked:
        changed["valid_to"] = period.valid_to
    if not changed:
        return
    Fact.objects.filter(pk=fact.pk).update(**changed)
    if changed.keys() & _text_of(first).keys():  # the statement that it was worded by is gone
        FactVector.objects.filter(namespace=act.namespace_id, fact=fact).delete()
        _store_words(act, fact.pk, first)
        act.changes.reworded.append(fact.pk)


def _keep_past_state(fact: Fact, at: datetime) -> None:
    FactState.objects.create(
        namespace_id=fact.namespace_id,
        fact=fact,
        valid_from=fact.valid_from,
        valid_to=fact.valid_to,
        certainty=fact.certainty,
        last_verified_at=fact.last_verified_at,
        confirmations=fact.confirmations,
        believed_from=fact.believed_since,
        believed_to=at,
    )


def _create(act: _Refresh, slot: Slot, first: FactStatement, period: HeldPeriod) -> uuid.UUID:
    """Store a new fact. One that was split off keeps the tags and the source of the other part."""
    origin = Fact.objects.filter(pk=first.fact_id).first() if first.fact_id else None
    created = Fact.objects.create(
        namespace_id=act.namespace_id,
        **slot._asdict(),
        object_key=period.object_key,
        **_text_of(first),
        tags=origin.tags if origin else [],
        source=origin.source if origin else Fact.Source.STATED,
        source_uri=first.source_uri,
        recorded_at=act.at,
        believed_since=act.at,
        **_fields_of(period),
    )
    _store_words(act, created.pk, first)
    act.changes.created.append(created.pk)
    return created.pk


def _text_of(row: FactStatement) -> dict[str, Any]:
    return {"subject": row.subject, "predicate": row.predicate, "object": row.object}


def _fields_of(period: HeldPeriod) -> dict[str, Any]:
    return {
        "valid_from": period.valid_from,
        "valid_to": period.valid_to,
        "certainty": period.certainty,
        "last_verified_at": period.verified_at,
        "confirmations": len(period.statements) - 1,
    }


def _store_words(act: _Refresh, fact_id: uuid.UUID, first: FactStatement) -> None:
    text = plain(first.subject, first.predicate, first.object)
    store_words({fact_id: text}, act.language)


def store_words(texts: dict[uuid.UUID, str], language: str) -> None:
    """Store the search words of facts, as written and stemmed in the namespace's language."""
    words = [prepare(text) for text in texts.values()]
    with connection.cursor() as cursor:
        cursor.execute(
            _WORDS,
            {
                "language": configuration(language),
                "ids": list(texts),
                "words": [f"{each.running} {each.extras}" for each in words],
            },
        )
