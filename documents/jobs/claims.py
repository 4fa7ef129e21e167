"""Claims: one worker holds a row of work until its lease runs out, and no other worker may change
it.

Ingest jobs, reindexes, evaluation runs, webhook deliveries and deletions are claimed this way.
Their tables have `state`, `lease_until` (on the database's clock) and `lease_token`. To take work
away from a worker, change the state or the token: the holder's next write finds no row and stops
it.
"""

import uuid
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar, Self

from django.conf import settings
from django.db.models import Model, Q, QuerySet
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Now


class LeaseLost(Exception):
    """The work was cancelled, deleted or taken over by another worker: stop quietly."""


def is_free() -> Q:
    """Match rows without a lease, and rows whose lease has run out."""
    return Q(lease_until=None) | Q(lease_until__lt=Now())


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to work on one row, valid while the row is open and holds this token."""

    job_id: uuid.UUID
    namespace_id: uuid.UUID
    token: uuid.UUID

    model: ClassVar[type[Model]]
    open_states: ClassVar[tuple[str, ...]]  # in which a worker may hold the row

    @classmethod
    def take(cls, rows: QuerySet[Any], **fields: Any) -> Self | None:
        """Claim the first free one of these rows and update these fields. In a transaction."""
        row = rows.filter(is_free()).select_for_update(skip_locked=True).first()
        if row is None:
            return None  # another worker was faster
        claim = cls(row.pk, cls.namespace_of(row), uuid.uuid4())
        cls.model._default_manager.filter(pk=row.pk).update(
            lease_token=claim.token, lease_until=cls.lease_end(), **fields
        )
        return claim

    @classmethod
    def namespace_of(cls, row: Any) -> uuid.UUID:
        namespace_id: uuid.UUID = row.namespace_id
        return namespace_id

    @classmethod
    def lease_length(cls) -> timedelta:
        return timedelta(seconds=settings.JOB_LEASE_SECONDS)

    @classmethod
    def lease_end(cls) -> CombinedExpression:
        return Now() + cls.lease_length()

    def held(self) -> QuerySet[Any]:
        """Return the claimed row; an empty queryset if the claim is no longer valid."""
        rows = self.model._default_manager.filter(pk=self.job_id, lease_token=self.token)
        return rows.filter(state__in=self.open_states)

    def write(self, **fields: Any) -> None:
        """Update the row, where it is visible. Raises LeaseLost if the claim is not valid."""
        if not self.try_write(**fields):
            raise LeaseLost(self.job_id)

    def try_write(self, **fields: Any) -> bool:
        return bool(self.held().update(**fields))

    def renew(self, **fields: Any) -> None:
        """Extend the lease and update these fields, or raise LeaseLost."""
        self.write(lease_until=self.lease_end(), **fields)

    def release(self, **fields: Any) -> None:
        """Release the row and update these fields, or raise LeaseLost."""
        self.write(lease_token=None, lease_until=None, **fields)
