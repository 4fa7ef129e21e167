"""Read facts in two times: what was true at a moment (`as_of`), as believed at one (`known_at`)."""

import uuid
from datetime import datetime
from typing import Any

from django.db.models import Case, F, OuterRef, Q, QuerySet, Subquery, When
from django.db.models.functions import Coalesce

from documents.models import Fact, FactState

from .naming import naming_for
from .rules.scope import FactScope

Status = Fact.Status
# Fields that change with what is believed, with the names of the past values beside them.
_PAST = ("valid_from", "valid_to", "certainty", "last_verified_at", "confirmations")


def held(namespace_id: uuid.UUID, scope: FactScope, now: datetime) -> QuerySet[Fact]:
    """Return what holds: approved, believed and valid at the moments of the scope. Inside
    namespace(); `moved_to_past` corrects each fact to what was known then."""
    facts = believed(Fact.objects.filter(namespace=namespace_id), scope.known_at)
    facts = holding(facts, scope.as_of or scope.known_at or now)
    naming = naming_for(namespace_id, names=scope.subjects, predicates=scope.predicates)
    if scope.subjects:
        facts = facts.filter(subject_key__in={naming.subject(s) for s in scope.subjects})
    if scope.predicates:
        facts = facts.filter(predicate_key__in={naming.predicate(p) for p in scope.predicates})
    if scope.tags:
        facts = facts.filter(tags__contains=list(scope.tags))
    if scope.user is not None:
        facts = facts.filter(user__in={scope.user, ""})
    return facts


def believed(facts: QuerySet[Fact], known_at: datetime | None) -> QuerySet[Fact]:
    """Keep the facts that were believed at a moment, with `then_…` as they were at that moment."""
    facts = facts.filter(status=Status.APPROVED)
    if known_at is None:
        facts = facts.filter(retracted_at=None)
        return facts.annotate(**{f"then_{name}": F(name) for name in _PAST})
    facts = facts.filter(
        Q(retracted_at=None) | Q(retracted_at__gt=known_at), recorded_at__lte=known_at
    )
    past = FactState.objects.filter(
        fact=OuterRef("pk"), believed_from__lte=known_at, believed_to__gt=known_at
    ).order_by("-believed_from")
    facts = facts.annotate(past_state=Subquery(past.values("pk")[:1]))
    then: dict[str, Any] = {}
    for name in _PAST:
        value = Subquery(past.values(name)[:1])
        # Null is a value of the validity, so Coalesce would take the present one for it.
        is_past = Q(past_state__isnull=False)
        then[f"then_{name}"] = (
            _either(is_past, value, name) if name.startswith("valid") else Coalesce(value, F(name))
        )
    return facts.annotate(**then)


def _either(condition: Q, value: Any, name: str) -> Any:
    return Case(When(condition, then=value), default=F(name))


def holding(facts: QuerySet[Fact], moment: datetime) -> QuerySet[Fact]:
    """Keep the facts that hold at a moment. After `believed`."""
    return facts.filter(
        Q(then_valid_from=None) | Q(then_valid_from__lte=moment),
        Q(then_valid_to=None) | Q(then_valid_to__gt=moment),
    )


def as_then(fact: Any) -> Fact:
    """Return the fact with the values that it had at the moment it is read for."""
    for name in _PAST:
        setattr(fact, name, getattr(fact, f"then_{name}"))
    return fact


def history(
    namespace_id: uuid.UUID, *, subject: str, predicate: str = "", user: str | None = None
) -> QuerySet[Fact]:
    """Return all that was ever held about a subject, in order of validity, retracted facts too."""
    naming = naming_for(namespace_id, names=[subject], predicates=[predicate])
    facts = Fact.objects.filter(
        namespace=namespace_id,
        subject_key=naming.subject(subject),
        status=Status.APPROVED,
    )
    if predicate:
        facts = facts.filter(predicate_key=naming.predicate(predicate))
    if user is not None:
        facts = facts.filter(user__in={user, ""})
    return facts.order_by(
        "predicate_key", F("valid_from").asc(nulls_first=True), "recorded_at", "id"
    ).defer("words")
