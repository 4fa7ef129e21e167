"""The audit log: `record` writes down who did what to how many, in the deed's own transaction."""

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


@dataclass(frozen=True, slots=True)
class Target:
    """What something was done to, where there is no row to name it by."""

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
    """Write one event down; whoever acts is known from the door (ragsite/access/actor.py).

    Called inside namespace() or operator() it is part of that transaction: no deed without a
    trace, no trace of what was rolled back. The namespace is the current one unless named.
    `details`: counts, names of fields, ids; never content, never a secret.
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
    """Forget events older than AUDIT_DAYS; how many. The database refuses younger than 30 days."""
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
        return Target(str(target._meta.model_name), str(target.pk), str(target))
    return target or Target("")
