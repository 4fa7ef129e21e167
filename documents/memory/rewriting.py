"""Change the aliases and predicate rules that decide which statements are about the same fact.

Facts are derived from statements, so all facts concerned are derived again. The namespace's memory
is locked meanwhile.
"""

import uuid
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from django.db.models import Q

from documents.accounts import audit
from documents.accounts.audit import Target
from documents.ingestion.revision import content_changed
from documents.models import Fact, FactAlias, FactStatement, PredicateRule
from documents.passages import MAX_FACT_NAME

from . import vectors
from .naming import Naming, naming_for
from .rules.names import name_key, object_key, predicate_key
from .rules.predicates import ALIASES
from .slots import lock_names, lock_slots, moment, refresh
from .statements import Changes, FactConflict, InvalidStatement, Slot
from .writing import in_one_transaction

T = TypeVar("T")

Kind = FactAlias.Kind


def set_alias(namespace_id: uuid.UUID, *, kind: str, alias: str, name: str) -> FactAlias:
    """Let a name stand for another one. Facts that were kept apart meet, and may merge."""

    def act(changes: Changes) -> FactAlias:
        key, target = _key(kind, alias), _resolved(namespace_id, kind, name)
        if key == target:
            raise FactConflict("Both are the same name already, or each would stand for the other.")
        known = FactAlias.objects.filter(namespace=namespace_id, kind=kind, alias_key=key).first()
        before = [known.name_key] if known else []
        row = known or FactAlias(namespace_id=namespace_id, kind=kind, alias_key=key)
        row.alias, row.name, row.name_key = alias.strip(), name.strip(), target
        row.save()
        # What stood for the alias stands for its name now.
        FactAlias.objects.filter(namespace=namespace_id, kind=kind, name_key=key).update(
            name_key=target, name=row.name
        )
        _rekey(namespace_id, kind, {key, target, *before}, changes)
        audit.record("fact_alias.set", target=Target("factalias", str(row.pk)))
        return row

    return _rewritten(namespace_id, act)


def remove_alias(namespace_id: uuid.UUID, alias_id: uuid.UUID) -> None:
    """Let the names go apart again, with the statements that used them. Raises DoesNotExist."""

    def act(changes: Changes) -> None:
        row = FactAlias.objects.get(namespace=namespace_id, pk=alias_id)
        row.delete()
        _rekey(namespace_id, row.kind, {row.alias_key, row.name_key}, changes)
        audit.record("fact_alias.remove", target=Target("factalias", str(alias_id)))

    _rewritten(namespace_id, act)


def set_rule(
    namespace_id: uuid.UUID, *, predicate: str, is_single: bool, half_life_days: float | None
) -> PredicateRule:
    """Say whether a predicate has one value at a time, and how fast it ages."""

    def act(changes: Changes) -> PredicateRule:
        key = _resolved(namespace_id, Kind.PREDICATE, predicate)
        values = {
            "predicate": predicate.strip(),
            "is_single": is_single,
            "half_life_days": half_life_days,
        }
        row, _ = PredicateRule.objects.update_or_create(
            namespace_id=namespace_id, predicate_key=key, defaults=values
        )
        _refresh_all(namespace_id, key, changes)
        audit.record("predicate_rule.set", target=Target("predicaterule", str(row.pk)))
        return row

    return _rewritten(namespace_id, act)


def remove_rule(namespace_id: uuid.UUID, rule_id: uuid.UUID) -> None:
    """Go back to the built-in rule. Raises PredicateRule.DoesNotExist."""

    def act(changes: Changes) -> None:
        row = PredicateRule.objects.get(namespace=namespace_id, pk=rule_id)
        key = row.predicate_key
        row.delete()
        _refresh_all(namespace_id, key, changes)
        audit.record("predicate_rule.remove", target=Target("predicaterule", str(rule_id)))

    _rewritten(namespace_id, act)


def _rewritten(namespace_id: uuid.UUID, act: Callable[[Changes], T]) -> T:
    changes = Changes()

    def alone() -> T:
        changes.clear()
        lock_names(namespace_id, exclusively=True)
        result = act(changes)
        content_changed(namespace_id)
        return result

    result = in_one_transaction(namespace_id, alone)
    vectors.embed_facts(namespace_id, changes.without_vector)
    return result


def _key(kind: str, name: str) -> str:
    if not name.strip() or len(name) > MAX_FACT_NAME:
        raise InvalidStatement(f"A name has 1 to {MAX_FACT_NAME} characters and is not blank.")
    return name_key(name) if kind == Kind.SUBJECT else predicate_key(name)


def _resolved(namespace_id: uuid.UUID, kind: str, name: str) -> str:
    _key(kind, name)
    if kind == Kind.SUBJECT:
        return naming_for(namespace_id, names=[name]).subject(name)
    return naming_for(namespace_id, predicates=[name]).predicate(name)


def _rekey(namespace_id: uuid.UUID, kind: str, keys: Iterable[str], changes: Changes) -> None:
    """Keep what is under these keys under those that the aliases now make of its names."""
    aliases = FactAlias.objects.filter(namespace=namespace_id)
    naming = Naming({(a.kind, a.alias_key): a.name_key for a in aliases})
    concerned = _under(kind, set(keys))
    moved: set[Slot] = set()
    for row in FactStatement.objects.filter(concerned, namespace=namespace_id):
        moved |= _rekeyed(row, naming)
    # Facts that follow from statements move when these are refreshed; all others move here.
    derived = Q(status=Fact.Status.APPROVED, retracted_at=None) & ~Q(source=Fact.Source.ROW)
    for fact in Fact.objects.filter(concerned, ~derived, namespace=namespace_id).defer("words"):
        _rekeyed(fact, naming)
    _refresh_slots(namespace_id, moved, changes)


def _under(kind: str, keys: set[str]) -> Q:
    if kind == Kind.PREDICATE:
        return Q(predicate_key__in=keys | {ALIASES.get(key, key) for key in keys})
    objects = [object_key("", name=key) for key in keys]
    return Q(subject_key__in=keys) | Q(object_key__in=objects)


def _rekeyed(row: Any, naming: Naming) -> set[Slot]:
    """Store a row's new keys; return the slots that it left and entered, if it moved."""
    before = (row.subject_key, row.predicate_key, row.object_key)
    slot = naming.slot(row.user, row.subject, row.predicate)
    after = (slot.subject_key, slot.predicate_key, naming.object(row.object))
    if after == before:
        return set()
    row.subject_key, row.predicate_key, row.object_key = after
    row.save(update_fields=["subject_key", "predicate_key", "object_key"])
    return {Slot(row.user, before[0], before[1]), slot}


def _refresh_all(namespace_id: uuid.UUID, predicate: str, changes: Changes) -> None:
    found = FactStatement.objects.filter(namespace=namespace_id, predicate_key=predicate)
    slots = found.order_by().values_list("user", "subject_key", "predicate_key").distinct()
    _refresh_slots(namespace_id, {Slot(*row) for row in slots}, changes)


def _refresh_slots(namespace_id: uuid.UUID, slots: set[Slot], changes: Changes) -> None:
    if slots:
        lock_slots(namespace_id, slots)
        refresh(namespace_id, slots, moment(namespace_id, slots), changes)
