"""Which fact took the place of another, for those that show them. Inside namespace()."""

import uuid
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime

from documents.models import Fact, FactStatement

from .naming import rules_of


def successors_of(facts: Iterable[Fact]) -> dict[uuid.UUID, uuid.UUID]:
    """Return what a merged fact went on in; of predicates with one value at a time also the fact
    that begins where another was closed, and the one that holds instead of a corrected one."""
    listed = [fact for fact in facts if fact.source != Fact.Source.ROW]
    found = {fact.pk: fact.superseded_by_id for fact in listed if fact.superseded_by_id}
    ends = _ends(fact for fact in listed if fact.pk not in found)
    if not ends:
        return found
    ended = [fact for fact in listed if fact.pk in ends]
    rules = rules_of(ended[0].namespace_id, {fact.predicate_key for fact in ended})
    next_ones = {
        (*_slot(one), one.valid_from): one for one in _beginning(ended, set(ends.values()))
    }
    for fact in ended:
        successor = next_ones.get((*_slot(fact), ends[fact.pk]))
        if rules[fact.predicate_key].is_single and successor and successor.pk != fact.pk:
            found[fact.pk] = successor.pk
    return found


def _ends(facts: Iterable[Fact]) -> dict[uuid.UUID, datetime | None]:
    """When each fact gave way: a closed one at its end, a corrected one where it would begin."""
    ends: dict[uuid.UUID, datetime | None] = {}
    retracted: dict[uuid.UUID, datetime | None] = {}
    for fact in facts:
        if fact.retracted_at is not None:
            retracted[fact.pk] = fact.valid_from
        elif fact.valid_to is not None:
            ends[fact.pk] = fact.valid_to
    # A fact that was taken back has no statement left; that of a corrected one stands.
    standing = FactStatement.objects.filter(
        fact__in=retracted, is_approved=True, withdrawn_at=None
    ).values_list("fact", flat=True)
    return ends | {fact_id: retracted[fact_id] for fact_id in standing if fact_id}


def _beginning(ended: Sequence[Fact], moments: Collection[datetime | None]) -> Iterable[Fact]:
    """Return the facts of the same slots that begin at one of these moments."""
    beginning = Fact.objects.filter(
        namespace=ended[0].namespace_id,
        subject_key__in={fact.subject_key for fact in ended},
        predicate_key__in={fact.predicate_key for fact in ended},
        status=Fact.Status.APPROVED,
        retracted_at=None,
    ).exclude(source=Fact.Source.ROW)
    return [one for one in beginning.defer("words") if one.valid_from in moments]


def _slot(fact: Fact) -> tuple[str, str, str]:
    return fact.user, fact.subject_key, fact.predicate_key
