"""The life of a run: put in, claimed, ended — or taken over from a worker that died.

As with documents' jobs the rows are the truth, and django-q2 only carries bells.
"""

import logging
import uuid
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import connection
from django.db.models import F, Q
from django.db.models.functions import Now
from django_q.tasks import async_task

from evaluation.errors import BadOptions, NothingToMeasure
from evaluation.models import EvaluationRun, GoldenSet
from ragsite.database.tenancy import namespace

from .options import RunOptions

logger = logging.getLogger(__name__)

State = EvaluationRun.State
OPEN_STATES = (State.QUEUED, State.RUNNING)
LEASE_SECONDS = 120  # renewed with every query: a search takes less, an answer has its own limit


class RunLost(Exception):
    """Cancelled, deleted, or somebody else has it now: stop quietly."""


@dataclass(frozen=True, slots=True)
class RunClaim:
    """The right to work on a run, as long as the row says so."""

    run_id: uuid.UUID
    namespace_id: uuid.UUID
    attempt: int

    def write(self, **fields: Any) -> None:
        """Inside namespace()."""
        held = EvaluationRun.objects.filter(
            pk=self.run_id, state=State.RUNNING, attempts=self.attempt
        )
        if not held.update(lease_until=Now() + _lease(), **fields):
            raise RunLost(self.run_id)


def _lease() -> timedelta:
    return timedelta(seconds=LEASE_SECONDS + settings.ANSWERS["seconds"])


def create(
    golden_set: GoldenSet, options: RunOptions, *, label: str = "", queue: bool = True
) -> EvaluationRun:
    """Inside namespace(). Queued for the workers, unless the caller is about to run it."""
    if not golden_set.queries.filter(judgements__grade__gt=0).exists():
        raise NothingToMeasure(f"No query of {golden_set.name!r} has a relevant judgement yet.")
    if options.rerank not in ("auto", "none", *settings.RERANKERS):
        raise BadOptions(f"The reranker {options.rerank!r} is not configured.")
    if options.model not in ("", *settings.LANGUAGE_MODELS):
        known = ", ".join(sorted(settings.LANGUAGE_MODELS))
        raise BadOptions(f"There is no language model {options.model!r}; there are: {known}.")
    run = EvaluationRun.objects.create(
        namespace_id=golden_set.namespace_id,
        golden_set=golden_set,
        label=label,
        options=options.stored(),
    )
    if queue:
        wake_workers()
    return EvaluationRun.objects.get(pk=run.pk)


def wake_workers() -> None:
    async_task("evaluation.tasks.run_next_evaluation", save=False)


def claim(run_id: uuid.UUID, namespace_id: uuid.UUID) -> RunClaim | None:
    """Take a run that waits, or whose worker has died; None if it is somebody else's."""
    with namespace(namespace_id):
        free = EvaluationRun.objects.filter(
            Q(state=State.QUEUED) | Q(state=State.RUNNING, lease_until__lt=Now()), pk=run_id
        )
        run = free.select_for_update(skip_locked=True).first()
        if run is None:
            return None
        if run.attempts >= settings.JOB_MAX_ATTEMPTS:
            _end(run_id, State.FAILED, "attempts_exhausted", "Its worker died again and again.")
            return None
        free.update(
            state=State.RUNNING,
            attempts=F("attempts") + 1,  # counts before the work starts
            lease_until=Now() + _lease(),
            started_at=run.started_at or Now(),
        )
        return RunClaim(run_id, namespace_id, run.attempts + 1)


def claim_next() -> RunClaim | None:
    for run_id, namespace_id in _waiting():
        if claimed := claim(run_id, namespace_id):
            return claimed
    return None


def _waiting() -> list[tuple[uuid.UUID, uuid.UUID]]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT run_id, namespace_id FROM ragsite.waiting_evaluations(16)")
        return cursor.fetchall()


def wake_for_waiting_runs() -> None:
    """Ring for runs that nobody is at: their bell was lost, or their worker has died."""
    for _ in _waiting()[: settings.JOB_WORKERS]:
        wake_workers()


def succeed(claim: RunClaim, **results: Any) -> None:
    claim.write(state=State.SUCCEEDED, finished_at=Now(), **results)


def fail(claim: RunClaim, code: str, message: str) -> None:
    with namespace(claim.namespace_id):
        claim.write()
        _end(claim.run_id, State.FAILED, code, message)


def pause(claim: RunClaim) -> None:
    """Let somebody else go on where this worker had to stop."""
    with namespace(claim.namespace_id):
        claim.write(state=State.QUEUED, attempts=0)  # it was getting on
    wake_workers()


def cancel(run_id: uuid.UUID) -> bool:
    """Stop a run that waits or runs; False if it had already ended. Inside namespace()."""
    return bool(_end(run_id, State.CANCELLED, "cancelled", "Cancelled on request."))


def _end(run_id: uuid.UUID, state: str, code: str, message: str) -> int:
    return EvaluationRun.objects.filter(pk=run_id, state__in=OPEN_STATES).update(
        state=state,
        lease_until=None,
        error_code=code,
        error_message=message,
        finished_at=Now(),
    )
