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

from documents.models import IngestJob, Reindex
from ragsite.database.tenancy import namespace

from . import heartbeat

logger = logging.getLogger(__name__)

SHOW_EVERY = 0.5  # seconds


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
        if not self.try_write(**fields):
            raise LeaseLost(self.job_id)

    def try_write(self, **fields: Any) -> bool:
        return bool(self._held().update(**fields))

    def _held(self) -> QuerySet[Any]:
        jobs = IngestJob.objects.filter(pk=self.job_id, lease_token=self.token)
        return jobs.filter(state=IngestJob.State.RUNNING)


class BuildClaim(Claim):
    """The right to build one reindex; job_id is the reindex's."""

    __slots__ = ()

    def _held(self) -> QuerySet[Any]:
        reindexes = Reindex.objects.filter(pk=self.job_id, lease_token=self.token)
        return reindexes.filter(state__in=Reindex.OPEN)


def lease_length() -> timedelta:
    return timedelta(seconds=settings.JOB_LEASE_SECONDS)


def lease_end() -> CombinedExpression:
    return Now() + lease_length()


@dataclass
class Lease:
    """Keeps a claim alive from a thread of its own while the work goes on.

    How far the work is need not be in the row at once: it is written with the batches that are
    stored anyway, else every half second. Most documents are done before that.
    """

    claim: Claim
    times_ms: dict[str, float] = field(default_factory=dict)
    # What the row should say and does not say yet.
    unwritten: dict[str, Any] = field(default_factory=dict)
    _writing: threading.Lock = field(default_factory=threading.Lock)
    _written_at: float = field(default_factory=time.monotonic)
    _is_lost: bool = False
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
        """Show the stage and keep the time it took."""
        self._show(stage=stage)
        started = time.perf_counter()
        yield
        self.times_ms[stage] = round((time.perf_counter() - started) * 1000, 1)

    def progress(self, done: int, total: int) -> None:
        self._show(**self._counts(done, total))

    @contextmanager
    def advancing(self, done: int, total: int) -> Iterator[None]:
        """A transaction to store a part of the work in, which shows the progress, too.

        What was stored stays, also if the lease turns out to be lost.
        """
        with self._writing:
            fields = {**self.unwritten, **self._counts(done, total)}
            with namespace(self.claim.namespace_id):
                yield
                is_held = self.claim.try_write(lease_until=lease_end(), **fields)
            self._written()
        if not is_held:
            raise LeaseLost(self.claim.job_id)

    def write(self, **fields: Any) -> None:
        """Now, whatever is to be shown besides."""
        with self._writing:
            with namespace(self.claim.namespace_id):
                self.claim.write(lease_until=lease_end(), **{**self.unwritten, **fields})
            self._written()

    def _show(self, **fields: Any) -> None:
        """LeaseLost if the row has been looked at since it was lost, as it is after every step
        that took longer than SHOW_EVERY."""
        if self._is_lost:
            raise LeaseLost(self.claim.job_id)
        with self._writing:
            self.unwritten |= fields
        if time.monotonic() - self._written_at > SHOW_EVERY:
            self.write()

    def _written(self) -> None:
        self.unwritten.clear()
        self._written_at = time.monotonic()

    def _counts(self, done: int, total: int) -> dict[str, int]:
        return {"passages_done": done, "passages_total": total}

    def _keep_alive(self) -> None:
        renew_every = settings.JOB_LEASE_SECONDS / 3
        look_every = pause = min(SHOW_EVERY, renew_every)
        renew_at = time.monotonic() + renew_every
        try:
            while not self._released.wait(pause):
                pause = look_every
                is_due = time.monotonic() >= renew_at
                if not (is_due or self.unwritten):
                    continue
                try:
                    self.write()
                    if is_due:
                        heartbeat.beat(heartbeat.group())
                        renew_at = time.monotonic() + renew_every
                except LeaseLost:
                    self._is_lost = True  # the work finds out at its next step
                    return
                except DatabaseError:
                    logger.warning("lease.renewal_failed", extra={"job_id": str(self.claim.job_id)})
                    pause = renew_every
        finally:
            connections.close_all()


class BuildLease(Lease):
    """Of a reindex, which counts documents: their passages are not shown."""

    def _counts(self, done: int, total: int) -> dict[str, int]:
        return {}
