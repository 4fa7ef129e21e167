"""Run queued jobs in the calling process, next to any running workers."""

import time
import uuid
from collections.abc import Callable, Sequence

from documents.ingestion.pipeline import ingest
from documents.models import Document, IngestJob
from ragsite.database.tenancy import namespace

from . import heartbeat, queue

WAIT_SECONDS = 0.5
CHECK_SECONDS = 1.0


def run_until_done(
    namespace_id: uuid.UUID,
    job_ids: Sequence[uuid.UUID],
    *,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[Document]:
    """Return when all of these jobs have ended, with the documents that did not become ready.

    Runs whatever job is next, including those of other namespaces.
    """
    pending = list(job_ids)
    group = heartbeat.group()
    while pending:
        check_at = time.monotonic() + CHECK_SECONDS
        while claim := queue.claim(group):
            ingest(claim)
            if time.monotonic() > check_at:
                break  # checking after every job would cost more than the jobs themselves
        else:  # other workers hold the rest, or have died
            queue.requeue_stalled()
            queue.wait(namespace_id, pending, seconds=WAIT_SECONDS)
        pending = queue.still_open(namespace_id, pending)
        progress(len(job_ids) - len(pending), len(job_ids))
    with namespace(namespace_id):
        ended = IngestJob.objects.filter(pk__in=list(job_ids)).exclude(state="succeeded")
        return [job.document for job in ended.select_related("document")]
