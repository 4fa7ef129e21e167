"""The life of an ingest job: queued, claimed, ended, or requeued when its worker has died.

The job rows are the source of truth. django-q2 only carries wake-ups: each makes a worker take the
next job. A lost wake-up is repeated by `requeue_stalled`, which the supervisor calls every few
seconds.
"""

import logging
import threading
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any

from django.db import connection
from django.db.models.functions import Now
from django.utils import timezone
from django_q.models import OrmQ
from django_q.tasks import async_task

from documents.errors import IngestError
from documents.models import Document, DocumentVersion, IngestJob
from documents.webhooks import events
from ragsite.database.tenancy import namespace
from ragsite.platform import metrics
from ragsite.platform.logs import current_request_id
from ragsite.web.threads import release_connections

from .claims import Claim

logger = logging.getLogger(__name__)

State, Stage = IngestJob.State, IngestJob.Stage
OPEN_STATES = (State.QUEUED, State.RUNNING)
MAX_WAKE_UPS = 100  # more would only queue up behind the same workers

# One statement, because it runs for every document. The document's row is locked before the job's,
# as everywhere (_lock); the attempt counts before the work starts; version and document get the
# new state (_record_state).
_CLAIM = """
    WITH document AS (
        SELECT document.id
        FROM documents_ingestjob job, documents_document document
        WHERE job.id = %(job)s AND document.id = job.document_id
        FOR UPDATE OF document SKIP LOCKED
    ), job AS (
        UPDATE documents_ingestjob job
        SET state = 'running', attempts = attempts + 1, lease_token = %(token)s,
            lease_until = now() + %(lease)s, worker = %(worker)s, started_at = now(),
            passages_done = 0
        FROM document
        WHERE job.id = %(job)s AND job.document_id = document.id AND job.state = 'queued'
        RETURNING job.id, job.version_id
    ), version_updated AS (
        UPDATE documents_documentversion version SET state = 'processing'
        FROM job WHERE version.id = job.version_id AND version.state <> 'live'
    ), document_updated AS (
        UPDATE documents_document document
        SET status = 'processing', error_code = '', error_message = '', updated_at = now()
        FROM job JOIN documents_documentversion version ON version.id = job.version_id
        WHERE document.id = version.document_id AND document.document_version = version.number
    )
    SELECT id FROM job
"""


class JobClaim(Claim):
    """The right to work on one ingest job."""

    __slots__ = ()
    model = IngestJob
    open_states = (State.RUNNING,)


def enqueue(document: Document, version: DocumentVersion) -> IngestJob:
    """Queue a version again and wake a worker, both in the caller's transaction."""
    _record_state(version, DocumentVersion.State.QUEUED, Document.Status.QUEUED)
    return add_job(document, version)


def add_job(document: Document, version: DocumentVersion) -> IngestJob:
    """Create the job of a version that this transaction has recorded as queued."""
    job = IngestJob.objects.create(
        namespace_id=document.namespace_id,
        document=document,
        version=version,
        request_id=current_request_id(),
    )
    wake_workers()
    return job


def wake_workers() -> None:
    """Have one worker take the next job."""
    # No user data in the payload, because django-q2 pickles it. No result row, because jobs have
    # their own.
    async_task("documents.tasks.run_next_job", save=False)


def claim(worker: str) -> JobClaim | None:
    """Claim the next job, fairly between namespaces (documents/sql/0003_next_jobs.sql)."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT job_id, namespace_id FROM ragsite.next_jobs(16)")
        candidates = cursor.fetchall()
    for job_id, namespace_id in candidates:
        token = uuid.uuid4()
        lease = JobClaim.lease_length()
        values = {"job": job_id, "token": token, "worker": worker, "lease": lease}
        with namespace(namespace_id), connection.cursor() as cursor:
            cursor.execute(_CLAIM, values)
            if cursor.fetchone():  # else another worker was faster
                return JobClaim(job_id, namespace_id, token)
    return None


def fail(claim: Claim, error: Exception, *, at: Mapping[str, Any] = MappingProxyType({})) -> bool:
    """End a failed attempt: fail the job if a retry cannot help or this was the last, else requeue.

    `at` holds progress fields that are not in the row yet (Lease.unwritten). Returns False if the
    claim is not valid any more: the job was cancelled, deleted or taken over.
    """
    with namespace(claim.namespace_id):
        job = _lock(claim.job_id)
        if job is None or job.lease_token != claim.token or job.state != State.RUNNING:
            return False
        if at:
            IngestJob.objects.filter(pk=job.pk).update(**at)
        code = error.code if isinstance(error, IngestError) else "internal_error"
        sentence = str(error) if isinstance(error, IngestError) else internal_error_message(error)
        is_final = isinstance(error, IngestError) and error.is_final
        if is_final or job.attempts >= job.max_attempts:
            _end(job, State.FAILED, code, sentence)
        else:
            _requeue(job, timedelta(seconds=5 * 2**job.attempts), code, sentence)
        return True


def give_back(namespace_id: uuid.UUID, token: uuid.UUID) -> None:
    """Queue what is left of the jobs that were claimed together under this token."""
    with namespace(namespace_id):
        left = IngestJob.objects.filter(lease_token=token, state=State.RUNNING)
        for job_id in sorted(left.values_list("pk", flat=True)):
            job = _lock(job_id)
            if job is not None and job.lease_token == token:
                _requeue(job, timedelta(0), "", "")


def cancel(job_id: uuid.UUID) -> bool:
    """Cancel a queued or running job; False if it had already ended. Inside namespace()."""
    job = _lock(job_id)
    if job is None or job.state not in OPEN_STATES:
        return False
    _end(job, State.CANCELLED, "cancelled", "Cancelled on request.")
    return True


def supersede(document: Document) -> None:
    """Cancel queued jobs of older versions of a locked document."""
    waiting = IngestJob.objects.filter(document=document, state=State.QUEUED)
    for job in (
        waiting.select_related("version").defer("version__text").select_for_update(of=("self",))
    ):
        _end(job, State.CANCELLED, "superseded", "A newer version was uploaded.")


def requeue_stalled(dead_workers: Sequence[str] = ()) -> int:
    """Requeue the jobs of dead workers and wake workers for overdue jobs.

    Returns how many jobs were found stalled.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT job_id, namespace_id FROM ragsite.stalled_jobs(%s)", [list(dead_workers)]
        )
        stalled = cursor.fetchall()
    for job_id, namespace_id in stalled:
        with namespace(namespace_id):
            _requeue_if_stalled(job_id, dead_workers)
    _wake_for_overdue_jobs()
    return len(stalled)


def wait(
    namespace_id: uuid.UUID,
    job_ids: Iterable[uuid.UUID],
    *,
    seconds: float,
    unless: threading.Event | None = None,
) -> None:
    """Return when the jobs have ended, after so many seconds, or when `unless` is set.

    No pooled connection is held during the wait, so that waiting callers do not block others.
    """
    pending = list(job_ids)
    deadline = time.monotonic() + seconds
    pause = 0.02
    unless = unless or threading.Event()
    while pending and time.monotonic() < deadline and not unless.is_set():
        release_connections()
        unless.wait(min(pause, max(0.0, deadline - time.monotonic())))
        pause = min(pause * 1.5, 0.5)
        pending = still_open(namespace_id, pending)


def still_open(namespace_id: uuid.UUID, job_ids: Iterable[uuid.UUID]) -> list[uuid.UUID]:
    with namespace(namespace_id):
        jobs = IngestJob.objects.filter(pk__in=list(job_ids), state__in=OPEN_STATES)
        return list(jobs.values_list("pk", flat=True))


def _requeue_if_stalled(job_id: uuid.UUID, dead_workers: Sequence[str]) -> None:
    job = _lock(job_id, skip_locked=True)
    if job is None or job.state != State.RUNNING:
        return  # it has ended in the meantime
    renewed = job.lease_until is not None and job.lease_until >= _database_now()
    if renewed and job.worker not in dead_workers:
        return  # its worker is alive after all
    logger.warning("job.taken_back", extra={"job_id": str(job_id), "attempts": job.attempts})
    if job.attempts < job.max_attempts:
        _requeue(job, timedelta(0), job.error_code, job.error_message)
    else:
        sentence = f"The worker died {job.attempts} times while working on this document."
        _end(job, State.FAILED, "attempts_exhausted", sentence)


def _lock(job_id: uuid.UUID, *, skip_locked: bool = False) -> IngestJob | None:
    """Lock the document's row, then the job's, and return the job.

    All code that changes both locks them in this order, so there are no deadlocks.
    """
    documents = Document.objects.select_for_update(of=("self",), skip_locked=skip_locked)
    if documents.filter(jobs=job_id).only("pk").first() is None:
        return None
    jobs = IngestJob.objects.select_related("version").defer("version__text")
    return jobs.select_for_update(of=("self",)).filter(pk=job_id).first()


def _wake_for_overdue_jobs() -> None:
    """Wake one worker per overdue job, less the wake-ups that are already waiting."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT ragsite.jobs_overdue(2.0, %s)", [MAX_WAKE_UPS])
        (overdue,) = cursor.fetchone()
    pending = OrmQ.objects.filter(lock__lte=timezone.now())[:MAX_WAKE_UPS].count() if overdue else 0
    for _ in range(overdue - pending):
        wake_workers()


def _requeue(job: IngestJob, after: timedelta, code: str, sentence: str) -> None:
    IngestJob.objects.filter(pk=job.pk).update(
        state=State.QUEUED,
        stage=Stage.WAITING,
        lease_token=None,
        lease_until=None,
        run_after=Now() + after,
        error_code=code,
        error_message=sentence,
    )
    _record_state(job.version, DocumentVersion.State.QUEUED, Document.Status.QUEUED)
    if not after:
        wake_workers()  # otherwise `requeue_stalled` does, when it is due


def _end(job: IngestJob, state: str, code: str, sentence: str) -> None:
    IngestJob.objects.filter(pk=job.pk).update(
        state=state,
        lease_token=None,
        lease_until=None,
        finished_at=Now(),
        error_code=code,
        error_message=sentence,
    )
    _record_state(
        job.version, DocumentVersion.State(state), Document.Status(state), code=code, text=sentence
    )
    if state == State.FAILED:
        events.document_failed(job.version, code=code, message=sentence)
    metrics.INGESTED_FILES.labels(state).inc()
    logger.info("job.ended", extra={"job_id": str(job.pk), "state": state, "code": code})


def _record_state(
    version: DocumentVersion,
    state: DocumentVersion.State,
    status: Document.Status,
    *,
    code: str = "",
    text: str = "",
) -> None:
    """Copy a job's state to its version and, if that is the newest one, to its document."""
    versions = DocumentVersion.objects.filter(pk=version.pk)
    versions.exclude(state=DocumentVersion.State.LIVE).update(state=state)
    Document.objects.filter(pk=version.document_id, document_version=version.number).update(
        status=status, error_code=code, error_message=text, updated_at=Now()
    )


def internal_error_message(error: Exception) -> str:
    # The exception's text may hold paths or content: it goes to the log, not to the client.
    return f"Something went wrong on our side ({type(error).__name__}); the server's log says more."


def _database_now() -> datetime:
    with connection.cursor() as cursor:
        cursor.execute("SELECT now()")
        return cursor.fetchone()[0]
