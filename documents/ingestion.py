"""From a stored original to searchable chunks: extract → split → embed → store."""

import logging
from collections.abc import Sequence

from django_q.exceptions import TimeoutException

from ragsite.logs import request_id
from ragsite.tenancy import namespace

from . import jobs, originals, profiles, quotas, terms
from .embedders import Embedder
from .embedding import embed
from .errors import IngestError
from .extraction import extract
from .headers import with_headers
from .leases import Claim, Lease, LeaseLost
from .models import Document, DocumentVersion, IndexProfile, IngestJob
from .passages import Extracted, Passage
from .providers.usage import MeteredEmbedder
from .publishing import ProfileSwitched, publish

logger = logging.getLogger(__name__)

Stage = IngestJob.Stage


class TookTooLong(IngestError):
    code = "timeout"


def ingest(claim: Claim) -> None:
    """Make one version searchable. Safe to run twice, and to kill anywhere."""
    with namespace(claim.namespace_id):
        jobs_and_more = IngestJob.objects.select_related(
            "version", "document", "namespace__active_profile"
        )
        try:
            job = jobs_and_more.get(pk=claim.job_id)
        except IngestJob.DoesNotExist:
            return  # deleted since we claimed it
    about = {"job_id": str(job.pk), "document_id": str(job.document_id), "attempt": job.attempts}
    with request_id(job.request_id or str(job.pk)):
        lease = Lease(claim)
        try:
            with lease:
                passages = _index(job, lease)
            logger.info(
                "ingest.done", extra={**about, "passages": passages, "times_ms": lease.times_ms}
            )
        except LeaseLost:
            logger.info("ingest.stopped", extra=about)
        except TimeoutException:
            late = TookTooLong("Indexing took longer than JOB_TIMEOUT allows.")
            jobs.fail(claim, late, at=lease.unwritten)
        except Exception as error:
            code = error.code if isinstance(error, IngestError) else "internal_error"
            if jobs.fail(claim, error, at=lease.unwritten):
                ours = not (isinstance(error, IngestError) and error.is_final)
                logger.warning("ingest.failed", extra={**about, "code": code}, exc_info=ours)
            else:
                logger.info("ingest.stopped", extra=about)


def _index(job: IngestJob, lease: Lease) -> int:
    version = job.version
    profile = job.namespace.active_profile
    profiles.embedder_of(profile)  # if it is not there, there is no point in reading the file
    with lease.stage(Stage.EXTRACT):
        extracted = read_original(version)
    while True:
        with lease.stage(Stage.SPLIT):
            passages = cut(profile, extracted, metered(profile, lease))
        with namespace(job.namespace_id):  # before anything is spent on its embedding
            more = len(passages) - job.document.chunks_count
            quotas.require_room(job.namespace_id, chunks=more)
        with lease.stage(Stage.EMBED):
            vectors = embed_passages(profile, job.document, version, extracted, passages, lease)
        try:
            with lease.stage(Stage.STORE):
                is_stale = publish(lease, version, profile, extracted, passages, vectors)
            break
        except ProfileSwitched as switched:  # while we embedded: under the new one, then
            profile = switched.profile
    if is_stale:
        terms.count(version.namespace_id, profile)
    return len(passages)


def read_original(version: DocumentVersion) -> Extracted:
    original = originals.opened(version.storage_key, sha256=version.content_sha256)
    with original as file:
        return extract(
            file,
            media_type=version.media_type,
            name=version.file_name,
            encoding=version.encoding,
        )


def cut(profile: IndexProfile, extracted: Extracted, embedder: Embedder) -> Sequence[Passage]:
    return profiles.splitter_of(profile, embedder).split(extracted)


def embed_passages(
    profile: IndexProfile,
    document: Document,
    version: DocumentVersion,
    extracted: Extracted,
    passages: Sequence[Passage],
    lease: Lease,
) -> list[str]:
    embedder = metered(profile, lease)
    texts = [passage.text for passage in passages]
    if profile.contextual_header:
        texts = with_headers(
            passages,
            title=document.given.get("title") or extracted.title,
            count_tokens=embedder.count_tokens,
            limit=embedder.whole_windows(profiles.splitter_of(profile, embedder).sizes.limit),
        )
    return embed(version, texts, embedder, lease)


def metered(profile: IndexProfile, lease: Lease) -> MeteredEmbedder:
    claim = lease.claim
    return MeteredEmbedder(profiles.embedder_of(profile), claim.namespace_id, claim.job_id)
