"""The life of a run: queued, claimed, ended, or taken over when its worker has died.

As with ingest jobs, the rows are the source of truth and django-q2 only carries wake-ups.
"""

import logging
import uuid
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import connection
from django.db.models import F, QuerySet
from django.db.models.functions import Coalesce, Now
from django_q.tasks import async_task

from documents.jobs.claims import Claim, LeaseLost, is_free
from documents.models.webhooks import EventType
from documents.webhooks import events
from evaluation.errors import BadOptions, NothingToMeasure
from evaluation.models import EvaluationRun, GoldenSet
from ragsite.database.tenancy import namespace

from .options import RunOptions

logger = logging.getLogger(__name__)

State = EvaluationRun.State
OPEN_STATES = (State.QUEUED, State.RUNNING)
LEASE_SECONDS = 120  # renewed with every query, and longer than any search takes


class RunClaim(Claim):
    """The right to work on one run. Its lease is renewed with every query."""

    __slots__ = ()
    model = EvaluationRun
    open_states = (State.RUNNING,)

    @classmethod
    def lease_length(cls) -> timedelta:
        return timedelta(seconds=LEASE_SECONDS + settings.ANSWERS["seconds"])


def create(
    golden_set: GoldenSet, options: RunOptions, *, label: str = "", queue: bool = True
) -> EvaluationRun:
    """Create a run; `queue=False` if the caller is about to run it itself. Inside namespace()."""
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
    """Have one worker take the next run."""
    async_task("evaluation.tasks.run_next_evaluation", save=False)


def claim(run_id: uuid.UUID, namespace_id: uuid.UUID) -> RunClaim | None:
    """Claim a run that is queued or whose worker has died; None if another worker has it."""
    with namespace(namespace_id):
        free = EvaluationRun.objects.filter(is_free(), pk=run_id, state__in=OPEN_STATES)
        exhausted = free.filter(attempts__gte=settings.JOB_MAX_ATTEMPTS)
        if _end(exhausted, State.FAILED, "attempts_exhausted", "Its worker died too many times."):
            _announce_finished(run_id)
            return None
        return RunClaim.take(
            free,
            state=State.RUNNING,
            attempts=F("attempts") + 1,  # counts before the work starts
            started_at=Coalesce("started_at", Now()),
        )


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
    """Wake workers for runs that no worker holds: a wake-up was lost, or a worker has died."""
    for _ in _waiting()[: settings.JOB_WORKERS]:
        wake_workers()


def succeed(claim: RunClaim, **results: Any) -> None:
    """Inside namespace()."""
    claim.release(state=State.SUCCEEDED, finished_at=Now(), **results)
    _announce_finished(claim.job_id)


def fail(claim: RunClaim, code: str, message: str) -> None:
    """Fail a run. Raises LeaseLost if it was cancelled, deleted or taken over."""
    with namespace(claim.namespace_id):
        if not _end(claim.held(), State.FAILED, code, message):
            raise LeaseLost(claim.job_id)
        _announce_finished(claim.job_id)


def pause(claim: RunClaim) -> None:
    """Requeue a run that ran out of time: the next worker continues where this one stopped."""
    with namespace(claim.namespace_id):
        claim.release(state=State.QUEUED, attempts=0)  # it made progress
    wake_workers()


def cancel(run_id: uuid.UUID) -> bool:
    """Cancel a queued or running run; False if it had already ended. Inside namespace()."""
    is_open = EvaluationRun.objects.filter(pk=run_id, state__in=OPEN_STATES)
    return bool(_end(is_open, State.CANCELLED, "cancelled", "Cancelled on request."))


def _announce_finished(run_id: uuid.UUID) -> None:
    """Announce that a run has succeeded or failed, in the transaction that records it."""

    def describe() -> dict[str, Any]:
        run = EvaluationRun.objects.select_related("golden_set").get(pk=run_id)
        return {
            "evaluation_id": str(run.pk),
            "golden_set_id": str(run.golden_set_id),
            "golden_set": run.golden_set.name,
            "label": run.label,
            "state": run.state,
            "queries_count": run.queries_done,
            "metrics": run.metrics,
            "error": {"code": run.error_code, "message": run.error_message}
            if run.error_code
            else None,
        }

    events.emit(EventType.EVALUATION_FINISHED, describe)


def _end(runs: QuerySet[EvaluationRun], state: str, code: str, message: str) -> int:
    return runs.update(
        state=state,
        lease_token=None,
        lease_until=None,
        error_code=code,
        error_message=message,
        finished_at=Now(),
    )
