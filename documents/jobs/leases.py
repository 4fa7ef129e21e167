"""Leases: a thread that renews a claim while the work goes on, and writes its progress."""

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from django.conf import settings
from django.db import Error as DatabaseError
from django.db import connections

from documents.models import IngestJob
from ragsite.database.tenancy import namespace

from . import heartbeat
from .claims import Claim, LeaseLost

logger = logging.getLogger(__name__)

WRITE_SECONDS = 0.5  # between two writes of progress


@dataclass
class Lease:
    """Renews a claim from a thread of its own while the work goes on.

    Progress is written together with the batches that are stored anyway, and otherwise every
    WRITE_SECONDS. Most documents take less time than that.
    """

    claim: Claim
    times_ms: dict[str, float] = field(default_factory=dict)
    # Fields that are not in the row yet.
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
        """Record the stage and the time it takes."""
        self._note(stage=stage)
        started = time.perf_counter()
        yield
        self.times_ms[stage] = round((time.perf_counter() - started) * 1000, 1)

    def progress(self, done: int, total: int) -> None:
        self._note(**self._counts(done, total))

    @contextmanager
    def advancing(self, done: int, total: int) -> Iterator[None]:
        """Open a transaction that stores a part of the work together with the progress.

        What was stored is kept even if the lease turns out to be lost; then LeaseLost is raised.
        """
        with self._writing:
            fields = {**self.unwritten, **self._counts(done, total)}
            with namespace(self.claim.namespace_id):
                yield
                is_held = self.claim.try_write(lease_until=self.claim.lease_end(), **fields)
            self._written()
        if not is_held:
            raise LeaseLost(self.claim.job_id)

    def write(self, **fields: Any) -> None:
        """Write these fields and all pending ones now."""
        with self._writing:
            with namespace(self.claim.namespace_id):
                self.claim.renew(**{**self.unwritten, **fields})
            self._written()

    def _note(self, **fields: Any) -> None:
        """Note fields for the next write, and write if that is due.

        Raises LeaseLost if a write since the last call found that the lease was lost.
        """
        if self._is_lost:
            raise LeaseLost(self.claim.job_id)
        with self._writing:
            self.unwritten |= fields
        if time.monotonic() - self._written_at > WRITE_SECONDS:
            self.write()

    def _written(self) -> None:
        self.unwritten.clear()
        self._written_at = time.monotonic()

    def _counts(self, done: int, total: int) -> dict[str, int]:
        return {"passages_done": done, "passages_total": total}

    def _keep_alive(self) -> None:
        renew_every = settings.JOB_LEASE_SECONDS / 3
        check_every = pause = min(WRITE_SECONDS, renew_every)
        renew_at = time.monotonic() + renew_every
        try:
            while not self._released.wait(pause):
                pause = check_every
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
    """The lease of a reindex. It counts documents, so passages are not recorded."""

    def _counts(self, done: int, total: int) -> dict[str, int]:
        return {}
