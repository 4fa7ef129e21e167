"""A worker's hold on a job: renewed while it lives, noticed when it is gone."""

import logging
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from types import TracebackType
from typing import Any, Self

from django.conf import settings
from django.db import Error as DatabaseError
from django.db import connections
from django.db.models import QuerySet
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Now

from ragsite.tenancy import namespace

from . import heartbeat
from .models import IngestJob, Reindex

logger = logging.getLogger(__name__)


class LeaseLost(Exception):
    """The job was cancelled or deleted, or somebody else has it now: stop quietly."""


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to work on one job, as long as its token is the one in the row."""

    job_id: uuid.UUID
    namespace_id: uuid.UUID
    token: uuid.UUID

    def write(self, **fields: Any) -> None:
        """Update the job's row, inside namespace(); LeaseLost if it is not ours any more."""
        if not self._held().update(**fields):
            raise LeaseLost(self.job_id)

    def _held(self) -> QuerySet[Any]:
        jobs = IngestJob.objects.filter(pk=self.job_id, lease_token=self.token)
        return jobs.filter(state=IngestJob.State.RUNNING)


class BuildClaim(Claim):
    """The right to build one reindex; job_id is the reindex's."""

    __slots__ = ()

    def _held(self) -> QuerySet[Any]:
        reindexes = Reindex.objects.filter(pk=self.job_id, lease_token=self.token)
        return reindexes.filter(state__in=Reindex.OPEN)


def lease_end() -> CombinedExpression:
    return Now() + timedelta(seconds=settings.JOB_LEASE_SECONDS)


@dataclass
class Lease:
    """Keeps a claim alive from a thread of its own while the work goes on."""

    claim: Claim
    times_ms: dict[str, float] = field(default_factory=dict)
    _released: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._keep_alive, name="lease", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._released.set()
        self._thread.join()

    @contextmanager
    def stage(self, stage: IngestJob.Stage) -> Iterator[None]:
        """Show the stage in the job's row and keep the time it took."""
        self.write(stage=stage)
        started = time.perf_counter()
        yield
        self.times_ms[stage] = round((time.perf_counter() - started) * 1000, 1)

    def progress(self, done: int, total: int) -> None:
        self.write(passages_done=done, passages_total=total)

    def write(self, **fields: Any) -> None:
        with namespace(self.claim.namespace_id):
            self.claim.write(lease_until=lease_end(), **fields)

    def _keep_alive(self) -> None:
        try:
            while not self._released.wait(settings.JOB_LEASE_SECONDS / 3):
                try:
                    self.write()
                    heartbeat.beat(heartbeat.group())
                except LeaseLost:
                    return  # the work finds out at its next write
                except DatabaseError:
                    logger.warning("lease.renewal_failed", extra={"job_id": str(self.claim.job_id)})
        finally:
            connections.close_all()


class BuildLease(Lease):
    """Of a reindex, which counts documents: their passages are not shown."""

    def progress(self, done: int, total: int) -> None:
        self.write()
