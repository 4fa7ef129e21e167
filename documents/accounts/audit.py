"""The audit log: `record` stores who did what to how many rows, in the same transaction."""

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection
from django.db.models import Model, Value
from django.db.models.expressions import Combinable, Subquery
from django.db.models.functions import Coalesce

from documents.metadata import storable, text
from documents.models import AuditEvent, Namespace
from ragsite.access.actor import current_actor
from ragsite.database import tenancy
from ragsite.platform.logs import current_request_id

# What users wrote is recorded by its id alone: once deleted, nothing of it is left in the log.
CONTENT = {"document", "fact", "factalias", "feedback", "goldenquery"}


@dataclass(frozen=True, slots=True)
class Target:
    """The target of an action for which there is no model instance."""

    kind: str
    id: str = ""
    label: str = ""


def record(
    action: str,
    *,
    count: int = 1,
    namespace: Namespace | UUID | None = None,
    target: Model | Target | None = None,
    details: Mapping[str, Any] | None = None,
) -> None:
    """Store one event. The actor is the one that the entry point has set (ragsite/access/actor.py).

    Inside namespace() or operator() the event is part of that transaction, so that neither the
    change nor the record exists without the other. `namespace` defaults to the current one.
    `details` contains counts, field names and ids, but never content or secrets.
    """
    namespace_id = namespace.pk if isinstance(namespace, Namespace) else namespace
    namespace_id = namespace_id or tenancy.current_namespace()
    actor, on = current_actor(), _target(target)
    with _role(namespace_id):
        AuditEvent.objects.create(
            actor_kind=actor.kind,
            actor=text(actor.label)[:200],
            namespace_id=namespace_id,
            namespace_slug=_slug(namespace, namespace_id),
            action=action,
            target_kind=on.kind,
            target_id=text(on.id)[:64],
            target_label=text(on.label)[:200],
            count=count,
            details=storable(dict(details or {})),
            request_id=current_request_id(),
            address=actor.address[:64],
        )


def prune() -> int:
    """Delete events older than AUDIT_DAYS, with a minimum of 30 enforced by the database; return
    how many."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT ragsite.prune_audit_events(%s)", [settings.AUDIT_DAYS])
        pruned: int = cursor.fetchone()[0]
    return pruned


def _role(namespace_id: UUID | None) -> AbstractContextManager[None]:
    if tenancy.is_operator():
        return nullcontext()
    return tenancy.namespace(namespace_id) if namespace_id else tenancy.operator()


def _slug(namespace: Namespace | UUID | None, namespace_id: UUID | None) -> str | Combinable:
    if isinstance(namespace, Namespace):
        return namespace.slug
    if namespace_id is None:
        return ""
    slugs = Namespace.objects.filter(pk=namespace_id).values("slug")
    return Coalesce(Subquery(slugs), Value(""))


def _target(target: Model | Target | None) -> Target:
    if isinstance(target, Model):
        kind = str(target._meta.model_name)
        return Target(kind, str(target.pk), "" if kind in CONTENT else str(target))
    return target or Target("")
