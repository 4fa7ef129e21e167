"""The reasons why a job has not ended yet, in sentences for the operator's pages."""

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connections
from django.utils import timezone

from documents.models import IngestJob, Namespace, ProviderPace
from ragsite.platform.wording import duration, plural

from . import heartbeat
from .status import SILENT_AFTER

MAX_COUNTED = 1000  # jobs ahead; more are "1,000 or more"

# The queue is fair between namespaces (ragsite.next_jobs), so a job's place is that among the jobs
# of its own namespace. The inner LIMIT keeps this quick, however long the queue is.
_PLACES = """
    SELECT job.id,
           (SELECT count(*) FROM (
                SELECT FROM documents_ingestjob earlier
                WHERE earlier.namespace_id = job.namespace_id AND earlier.state = 'queued'
                  AND earlier.run_after < job.run_after
                LIMIT %(most)s
            ) ahead)
    FROM documents_ingestjob job
    WHERE job.id = ANY (%(jobs)s)
"""

_RUNNING = """
    SELECT namespace_id, count(*) FROM documents_ingestjob WHERE state = 'running'
    GROUP BY namespace_id
"""

_OTHERS = """
    SELECT tenant.id FROM documents_namespace tenant
    WHERE EXISTS (SELECT FROM documents_ingestjob job
                  WHERE job.namespace_id = tenant.id AND job.state = 'queued'
                    AND job.run_after <= now())
"""


@dataclass(frozen=True, slots=True)
class Reason:
    """`code` is stable; the sentence is shown to users."""

    code: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Pause:
    provider: str
    until: datetime


@dataclass(frozen=True, slots=True)
class QueueState:
    """The state that decides when the jobs of one page are processed."""

    now: datetime
    heartbeat_age: float | None
    ahead: dict[uuid.UUID, int]
    running: dict[uuid.UUID, int]  # by namespace
    waiting: frozenset[uuid.UUID]  # namespaces with jobs that are due
    closed: frozenset[uuid.UUID]  # namespaces that are being deleted
    pauses: dict[uuid.UUID, Pause]  # namespaces whose embedding provider asked for a pause

    @property
    def is_silent(self) -> bool:
        return self.heartbeat_age is None or self.heartbeat_age > SILENT_AFTER


def why_waiting(jobs: Sequence[IngestJob]) -> dict[uuid.UUID, list[Reason]]:
    """Return the reasons for each job that is queued or running, the most important first. The
    number of statements does not depend on the number of jobs. Inside operator()."""
    still_open = [job for job in jobs if job.state in (job.State.QUEUED, job.State.RUNNING)]
    if not still_open:
        return {}
    state = _queue_state(still_open)
    return {
        job.pk: _of_running(job, state)
        if job.state == IngestJob.State.RUNNING
        else _of_queued(job, state)
        for job in still_open
    }


def _queue_state(jobs: Sequence[IngestJob]) -> QueueState:
    owners = Namespace.objects.filter(pk__in={job.namespace_id for job in jobs})
    closed, pauses = set(), {}
    now = timezone.now()
    blocked = dict(
        ProviderPace.objects.filter(blocked_until__gt=now).values_list("provider", "blocked_until")
    )
    for owner in owners.select_related("active_profile"):
        if owner.deleting_since is not None:
            closed.add(owner.pk)
        provider = owner.active_profile.embedder
        if provider in blocked:
            pauses[owner.pk] = Pause(provider, blocked[provider])
    queued = [job.pk for job in jobs if job.state == IngestJob.State.QUEUED]
    return QueueState(
        now=now,
        heartbeat_age=heartbeat.youngest_age(),
        ahead=dict(_rows(_PLACES, {"jobs": queued, "most": MAX_COUNTED})),
        running=dict(_rows(_RUNNING)),
        waiting=frozenset(row[0] for row in _rows(_OTHERS)),
        closed=frozenset(closed),
        pauses=pauses,
    )


def _rows(statement: str, parameters: dict[str, Any] | None = None) -> list[Any]:
    with connections["operator"].cursor() as cursor:
        cursor.execute(statement, parameters or {})
        return list(cursor.fetchall())


def _of_queued(job: IngestJob, state: QueueState) -> list[Reason]:
    reasons = []
    if job.namespace_id in state.closed:
        reasons.append(Reason("namespace_deleted", "Its namespace is being deleted."))
    if state.is_silent:
        reasons.append(_silence(state))
    if job.run_after > state.now:
        reasons.append(_pause(job, state))
    else:
        reasons.append(_place(job, state))
    return [*reasons, *_provider_pause(job, state)]


def _silence(state: QueueState) -> Reason:
    since = "yet" if state.heartbeat_age is None else f"for {duration(state.heartbeat_age)}"
    return Reason(
        "no_worker",
        f"No worker has reported {since}: nothing is indexed until one runs. "
        "`manage.py up` starts and watches them; its log says why they stopped.",
    )


def _pause(job: IngestJob, state: QueueState) -> Reason:
    left = duration((job.run_after - state.now).total_seconds())
    if not job.attempts:
        return Reason("not_due", f"It is due in {left}.")
    cause = f": {job.error_message}" if job.error_message else "."
    return Reason(
        "retry",
        f"It is tried again in {left}, after attempt {job.attempts} of {job.max_attempts} "
        f"failed{cause}",
    )


def _place(job: IngestJob, state: QueueState) -> Reason:
    ahead = state.ahead.get(job.pk, 0)
    shown = f"{MAX_COUNTED:,} or more jobs" if ahead >= MAX_COUNTED else plural(ahead, "job")
    come = "comes" if ahead == 1 else "come"
    first = f"{shown} of its namespace {come} first" if ahead else "It is next in its namespace"
    parts = [first]
    if running := state.running.get(job.namespace_id, 0):
        parts.append(f"{running:,} of its namespace {'is' if running == 1 else 'are'} running")
    if others := len(state.waiting - {job.namespace_id}):
        parts.append(f"{plural(others, 'other namespace')} waiting, served in turn")
    elsewhere = sum(state.running.values()) - running
    if not running and elsewhere:
        parts.append(f"the workers are busy with {plural(elsewhere, 'job')} of other namespaces")
    return Reason("position", f"{'; '.join(parts)}.")


def _of_running(job: IngestJob, state: QueueState) -> list[Reason]:
    worker = job.worker or "A worker"
    if job.lease_until is None or job.lease_until < state.now:
        return [
            Reason(
                "lease_over",
                f"{worker} has not reported for a while: the job is taken back and given to "
                "another worker within seconds.",
            ),
            *([_silence(state)] if state.is_silent else []),
        ]
    left = duration((job.lease_until - state.now).total_seconds())
    doing = "works on it" if job.stage == job.Stage.WAITING else f"works on it (stage {job.stage})"
    at_work = Reason("running", f"{worker} {doing}; its lease runs for another {left}.")
    return [*_provider_pause(job, state), at_work]


def _provider_pause(job: IngestJob, state: QueueState) -> list[Reason]:
    pause = state.pauses.get(job.namespace_id)
    if pause is None:
        return []
    left = duration((pause.until - state.now).total_seconds())
    sentence = f"The embedding provider {pause.provider!r} asked for a pause of another {left}."
    return [Reason("provider_pause", sentence)]


def sentences(reasons: Iterable[Reason]) -> str:
    return " ".join(reason.sentence for reason in reasons)
