"""Operations on one fact: confirm, retract, and correct it by hand."""

import uuid
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from documents.accounts import audit
from documents.accounts.audit import Target
from documents.ingestion.revision import content_changed
from documents.models import Fact, FactStatement

from . import vectors
from .naming import rules_of
from .slots import moment, refresh, supporting
from .statements import UNSET, Changes, FactConflict, Outcome, StatedFact, Unset
from .writing import held_fact, in_one_transaction, locked_fact, remember, slot_of


def confirm(
    namespace_id: uuid.UUID, fact_id: uuid.UUID, *, certainty: float = 1.0, source_uri: str = ""
) -> Outcome:
    """State a fact again, within its own period. Raises Fact.DoesNotExist and FactConflict."""
    fact = held_fact(namespace_id, fact_id)
    again = StatedFact(
        subject=fact.subject,
        predicate=fact.predicate,
        object=fact.object,
        certainty=certainty,
        user=fact.user,
        source_uri=source_uri,
        valid_from=fact.valid_from,
        kind=FactStatement.Kind.CONFIRMATION,
    )
    (outcome,) = remember(namespace_id, [again])
    return outcome


def retract(namespace_id: uuid.UUID, fact_id: uuid.UUID) -> datetime:
    """Retract a fact that was wrong. Facts that it had closed continue; the fact stays in the
    history. Raises Fact.DoesNotExist and FactConflict."""
    changes = Changes()

    def act() -> datetime:
        changes.clear()
        fact = locked_fact(namespace_id, fact_id)
        at = moment(namespace_id, {slot_of(fact)})
        rule = rules_of(namespace_id, [fact.predicate_key])[fact.predicate_key]
        withdrawn = supporting(fact, is_single=rule.is_single)
        FactStatement.objects.filter(pk__in=withdrawn).update(withdrawn_at=at)
        refresh(namespace_id, [slot_of(fact)], at, changes)
        audit.record("fact.retract", target=Target("fact", str(fact_id)))
        content_changed(namespace_id)
        return at

    at = in_one_transaction(namespace_id, act)
    vectors.embed_facts(namespace_id, changes.without_vector)
    return at


def change(namespace_id: uuid.UUID, fact_id: uuid.UUID, fields: Mapping[str, Any]) -> Fact:
    """Change a fact's certainty, tags, source_uri, valid_from or valid_to; neighbouring facts are
    derived again. Subject, predicate and object cannot change: that would be another fact. Raises
    Fact.DoesNotExist and FactConflict."""
    changes = Changes()

    def act() -> Fact:
        changes.clear()
        fact = locked_fact(namespace_id, fact_id)
        at = moment(namespace_id, {slot_of(fact)})
        described = {name: fields[name] for name in ("tags", "source_uri") if name in fields}
        if described:
            Fact.objects.filter(pk=fact_id).update(**described)
        _move(fact, fields)
        if "certainty" in fields:
            _set_certainty(fact, fields["certainty"], at)
        refresh(namespace_id, [slot_of(fact)], at, changes)
        content_changed(namespace_id)
        return Fact.objects.get(pk=fact_id)

    changed = in_one_transaction(namespace_id, act)
    vectors.embed_facts(namespace_id, changes.without_vector)
    return changed


def _move(fact: Fact, fields: Mapping[str, Any]) -> None:
    """Change the beginning or end of the fact's statements."""
    begins: datetime | Unset | None = fields.get("valid_from", UNSET)
    ends: datetime | Unset | None = fields.get("valid_to", UNSET)
    first = fact.valid_from if isinstance(begins, Unset) else begins
    last = fact.valid_to if isinstance(ends, Unset) else ends
    if first is not None and last is not None and last <= first:
        raise FactConflict("A fact cannot end before it begins.")
    for row in FactStatement.objects.filter(fact=fact, withdrawn_at=None):
        if not isinstance(begins, Unset) and (
            row.valid_from == fact.valid_from or _before(row.valid_from, begins)
        ):
            row.valid_from = begins
        if not isinstance(ends, Unset):
            row.valid_to = ends
            if ends is not None and row.valid_from is not None and row.valid_from >= ends:
                row.valid_from = first  # it was stated again after its new end
        row.save(update_fields=["valid_from", "valid_to"])


def _before(one: datetime | None, other: datetime | None) -> bool:
    return other is not None and (one is None or one < other)


def _set_certainty(fact: Fact, certainty: float, at: datetime) -> None:
    first = FactStatement.objects.filter(fact=fact, withdrawn_at=None).order_by("stated_at")[0]
    FactStatement.objects.create(
        namespace_id=fact.namespace_id,
        fact=fact,
        **slot_of(fact)._asdict(),
        object_key=fact.object_key,
        kind=FactStatement.Kind.CORRECTION,
        subject=first.subject,
        predicate=first.predicate,
        object=first.object,
        certainty=certainty,
        valid_from=first.valid_from,
        stated_at=at,
        verified_at=fact.last_verified_at,
    )
