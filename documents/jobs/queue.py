"""The life of a job: put in, claimed, ended — or taken back from a worker that died.

These rows are the truth. django-q2 only carries bells, and any bell makes a worker take whatever
job is next; a lost bell is rung again by `reap`, which the supervisor calls every few seconds.
"""

import logging
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
from ragsite.database.tenancy import namespace
from ragsite.platform.logs import current_request_id
from ragsite.web.threads import release_connections

from .leases import Claim, lease_length

logger = logging.getLogger(__name__)

State, Stage = IngestJob.State, IngestJob.Stage
OPEN_STATES = (State.QUEUED, State.RUNNING)
MAX_WAKE_UPS = 100  # more would only queue up behind the same workers

# In one statement, because it comes with every document. The document's row is locked before the
# job's, as everywhere (_lock); the attempt counts before the work starts; version and document are
# told (_tell).
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
    ), told AS (
        UPDATE documents_documentversion version SET state = 'processing'
        FROM job WHERE version.id = job.version_id AND version.state <> 'live'
    ), shown AS (
        UPDATE documents_document document
        SET status = 'processing', error_code = '', error_message = '', updated_at = now()
        FROM job JOIN documents_documentversion version ON version.id = job.version_id
        WHERE document.id = version.document_id AND document.document_version = version.number
    )
    SELECT id FROM job
"""


def enqueue(document: Document, version: DocumentVersion) -> IngestJob:
    """Queue a version once more and ring, in the caller's transaction: both happen or neither."""
    _tell(version, DocumentVersion.State.QUEUED, Document.Status.QUEUED)
    return add_job(document, version)


def add_job(document: Document, version: DocumentVersion) -> IngestJob:
    """The same for a version that was recorded as queued in this transaction."""
    job = IngestJob.objects.create(
        namespace_id=document.namespace_id,
        document=document,
        version=version,
        request_id=current_request_id(),
    )
    wake_workers()
    return job


def wake_workers() -> None:
    # No user data in the payload, because django-q2 pickles it; no result row: ours says it all.
    async_task("documents.tasks.run_next_job", save=False)


def claim(worker: str) -> Claim | None:
    """Take the next job, fairly between namespaces; None when there is none."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT job_id, namespace_id FROM ragsite.next_jobs(16)")
        candidates = cursor.fetchall()
    for job_id, namespace_id in candidates:
        token = uuid.uuid4()
        taken = {"job": job_id, "token": token, "worker": worker, "lease": lease_length()}
        with namespace(namespace_id), connection.cursor() as cursor:
            cursor.execute(_CLAIM, taken)
            if cursor.fetchone():  # else another worker was faster
                return Claim(job_id, namespace_id, token)
    return None


def fail(claim: Claim, error: Exception, *, at: Mapping[str, Any] = MappingProxyType({})) -> bool:
    """End an attempt that went wrong: for good if the next would only fail too, or was the last.

    `at` is what its row does not say yet of how far it came (leases.py). False if the job was not
    ours any more: cancelled, deleted or taken over meanwhile.
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


def cancel(job_id: uuid.UUID) -> bool:
    """Stop a job that is waiting or running; False if it had already ended. Inside namespace()."""
    job = _lock(job_id)
    if job is None or job.state not in OPEN_STATES:
        return False
    _end(job, State.CANCELLED, "cancelled", "Cancelled on request.")
    return True


def supersede(document: Document) -> None:
    """Cancel what still waits for older versions of a locked document: a newer one has come."""
    waiting = IngestJob.objects.filter(document=document, state=State.QUEUED)
    for job in (
        waiting.select_related("version").defer("version__text").select_for_update(of=("self",))
    ):
        _end(job, State.CANCELLED, "superseded", "A newer version of the document has come.")


def requeue_stalled(dead_workers: Sequence[str] = ()) -> int:
    """Take jobs back from dead workers and ring for work that waits too long."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT job_id, namespace_id FROM ragsite.stalled_jobs(%s)", [list(dead_workers)]
        )
        stalled = cursor.fetchall()
    for job_id, namespace_id in stalled:
        with namespace(namespace_id):
            _take_back(job_id, dead_workers)
    _wake_for_overdue_jobs()
    return len(stalled)


def wait(namespace_id: uuid.UUID, job_ids: Iterable[uuid.UUID], *, seconds: float) -> None:
    """Return when the jobs have ended, or after so many seconds. Between two looks this thread
    holds no pooled connection: callers that wait must not keep others from the database."""
    pending = list(job_ids)
    deadline = time.monotonic() + seconds
    pause = 0.02
    while pending and time.monotonic() < deadline:
        release_connections()
        time.sleep(min(pause, max(0.0, deadline - time.monotonic())))
        pause = min(pause * 1.5, 0.5)
        pending = still_open(namespace_id, pending)


def still_open(namespace_id: uuid.UUID, job_ids: Iterable[uuid.UUID]) -> list[uuid.UUID]:
    with namespace(namespace_id):
        jobs = IngestJob.objects.filter(pk__in=list(job_ids), state__in=OPEN_STATES)
        return list(jobs.values_list("pk", flat=True))


def _take_back(job_id: uuid.UUID, dead_workers: Sequence[str]) -> None:
    job = _lock(job_id, skip_locked=True)
    if job is None or job.state != State.RUNNING:
        return  # it ended since we looked
    renewed = job.lease_until is not None and job.lease_until >= _database_now()
    if renewed and job.worker not in dead_workers:
        return  # its worker came back
    logger.warning("job.taken_back", extra={"job_id": str(job_id), "attempts": job.attempts})
    if job.attempts < job.max_attempts:
        _requeue(job, timedelta(0), job.error_code, job.error_message)
    else:
        sentence = f"The worker died {job.attempts} times while working on this document."
        _end(job, State.FAILED, "attempts_exhausted", sentence)


def _lock(job_id: uuid.UUID, *, skip_locked: bool = False) -> IngestJob | None:
    """The job, its document's row locked before its own.

    Everybody who changes both takes them in this order, so nobody waits in a circle.
    """
    documents = Document.objects.select_for_update(of=("self",), skip_locked=skip_locked)
    if documents.filter(jobs=job_id).only("pk").first() is None:
        return None
    jobs = IngestJob.objects.select_related("version").defer("version__text")
    return jobs.select_for_update(of=("self",)).filter(pk=job_id).first()


def _wake_for_overdue_jobs() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT ragsite.jobs_overdue(2.0, %s)", [MAX_WAKE_UPS])
        (overdue,) = cursor.fetchone()
    ringing = OrmQ.objects.filter(lock__lte=timezone.now())[:MAX_WAKE_UPS].count() if overdue else 0
    for _ in range(overdue - ringing):
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
    _tell(job.version, DocumentVersion.State.QUEUED, Document.Status.QUEUED)
    if not after:
        wake_workers()  # otherwise `requeue_stalled` wakes them when the time has come


def _end(job: IngestJob, state: str, code: str, sentence: str) -> None:
    IngestJob.objects.filter(pk=job.pk).update(
        state=state,
        lease_token=None,
        lease_until=None,
        finished_at=Now(),
        error_code=code,
        error_message=sentence,
    )
    _tell(
        job.version, DocumentVersion.State(state), Document.Status(state), code=code, text=sentence
    )
    logger.info("job.ended", extra={"job_id": str(job.pk), "state": state, "code": code})


def _tell(
    version: DocumentVersion,
    state: DocumentVersion.State,
    status: Document.Status,
    *,
    code: str = "",
    text: str = "",
) -> None:
    """Carry a job's fate to its version and, if that is the newest one, to its document."""
    versions = DocumentVersion.objects.filter(pk=version.pk)
    versions.exclude(state=DocumentVersion.State.LIVE).update(state=state)
    Document.objects.filter(pk=version.document_id, document_version=version.number).update(
        status=status, error_code=code, error_message=text, updated_at=Now()
    )


def internal_error_message(error: Exception) -> str:
    # The exception's words may hold paths or content; the log has them, the client does not.
    return f"Something went wrong on our side ({type(error).__name__}); the server's log says more."


def _database_now() -> datetime:
    with connection.cursor() as cursor:
        cursor.execute("SELECT now()")
        return cursor.fetchone()[0]
