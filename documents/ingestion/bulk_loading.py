"""Load many documents faster: read and split a window of them ahead, embed all their passages
together, then publish each as usual.

Passages of many documents form full batches of similar length for every core, whereas one short
document leaves cores idle. The vectors are stored in the embedding cache, so after a crash nothing
is embedded again, and a worker that takes a job in the meantime finds them, too.
"""

import logging
import os
import uuid
from collections.abc import Callable, Sequence
from itertools import islice

from django.conf import settings

from documents.embedders.local import LocalEmbedder
from documents.errors import IngestError
from documents.jobs.drain import run_until_done
from documents.metering.embeddings import MeteredEmbedder
from documents.models import IngestJob
from documents.profiles import chunking_overrides, profiles
from ragsite.database.tenancy import namespace

from .embedding import embed_ahead
from .pipeline import Prepared, read_original, split, texts_of

logger = logging.getLogger(__name__)

WINDOW = 200  # documents
MAX_CHARACTERS = 5_000_000  # characters of the texts of a window, which are held in memory


def load(
    namespace_id: uuid.UUID,
    job_ids: Sequence[uuid.UUID],
    *,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> None:
    """Return when all of these jobs have ended."""
    waiting, done = iter(job_ids), 0
    while window := list(islice(waiting, WINDOW)):
        base = done
        run_until_done(
            namespace_id,
            window,
            progress=lambda ended, _, base=base: progress(base + ended, len(job_ids)),  # type: ignore[misc]
            prepared=_ahead(namespace_id, window),
        )
        done += len(window)


def _ahead(namespace_id: uuid.UUID, job_ids: Sequence[uuid.UUID]) -> dict[uuid.UUID, Prepared]:
    """Read, split and embed as many as possible; the others fail later, with a reason, in the usual
    way."""
    with namespace(namespace_id):
        rows = IngestJob.objects.select_related("version", "document", "namespace__active_profile")
        jobs = list(rows.filter(pk__in=job_ids, state=IngestJob.State.QUEUED))
    if not jobs:
        return {}
    try:
        embedder = profiles.embedder_of(jobs[0].namespace.active_profile)
        metered = MeteredEmbedder(embedder, namespace_id, None)
        prepared, texts, characters = {}, {}, 0
        for job in jobs:
            if characters > MAX_CHARACTERS:
                break
            if (one := _prepared(job, metered)) is not None:
                prepared[job.pk] = one
                texts[job.document_id] = texts_of(
                    one.profile, job.document, one.extracted, one.pieces, metered
                )
                characters += len(one.extracted.text)
        embed_ahead(namespace_id, texts, metered, workers=_workers(embedder))
    except IngestError as error:  # the embedder failed: each job will report it itself
        logger.warning("bulk.not_ahead", extra={"code": error.code})
        return {}
    return prepared


def _prepared(job: IngestJob, embedder: MeteredEmbedder) -> Prepared | None:
    profile = job.namespace.active_profile
    requested = chunking_overrides.requested_by(job.document)
    try:
        extracted = read_original(job.version)
        pieces = split(profile, requested, extracted, embedder, job.namespace_id)
    except IngestError:
        return None
    return Prepared(profile, requested, extracted, pieces)


def _workers(embedder: object) -> int:
    """Return how many batches to embed at the same time: a local model gets every core."""
    if any(settings.EMBEDDING_CAPS.values()) or not isinstance(embedder, LocalEmbedder):
        return 1
    threads = max(1, getattr(embedder, "threads", 1))
    return max(1, (os.cpu_count() or 1) // threads)
