"""Lending a hand: working the queue off from here, beside any running workers."""

import time
import uuid
from collections.abc import Callable, Sequence

from documents.ingestion.pipeline import ingest
from documents.models import Document, IngestJob
from ragsite.database.tenancy import namespace

from . import heartbeat, queue

WAIT_SECONDS = 0.5
LOOK_SECONDS = 1.0


def run_until_done(
    namespace_id: uuid.UUID,
    job_ids: Sequence[uuid.UUID],
    *,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[Document]:
    """Return when all of these jobs have ended; the documents that did not become ready."""
    pending = list(job_ids)
    group = heartbeat.group()
    while pending:
        patience = time.monotonic() + LOOK_SECONDS
        while claim := queue.claim(group):
            ingest(claim)
            if time.monotonic() > patience:
                break  # looking after each job would cost more than the jobs, with thousands
        else:  # others are at it, or have died at it
            queue.requeue_stalled()
            queue.wait(namespace_id, pending, seconds=WAIT_SECONDS)
        pending = queue.still_open(namespace_id, pending)
        progress(len(job_ids) - len(pending), len(job_ids))
    with namespace(namespace_id):
        ended = IngestJob.objects.filter(pk__in=list(job_ids)).exclude(state="succeeded")
        return [job.document for job in ended.select_related("document")]
