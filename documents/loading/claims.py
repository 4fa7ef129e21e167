"""The claim of one process on the jobs of a window, under one token."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from django.db.models import QuerySet

from documents.jobs.claims import Claim
from documents.models import IngestJob

from .taking import TakenDocument


@dataclass(frozen=True, slots=True)
class WindowClaim(Claim):
    """It is lost when none of the jobs is left; each may be taken away by itself."""

    job_ids: tuple[uuid.UUID, ...] = ()

    model = IngestJob
    open_states = (IngestJob.State.RUNNING,)

    @classmethod
    def of(cls, taken: Sequence[TakenDocument]) -> Self:
        first = taken[0].claim
        job_ids = tuple(each.job.pk for each in taken)
        return cls(first.job_id, first.namespace_id, first.token, job_ids)

    def held(self) -> QuerySet[Any]:
        rows = IngestJob.objects.filter(pk__in=self.job_ids, lease_token=self.token)
        return rows.filter(state__in=self.open_states)
