"""From a stored original to searchable chunks: extract → split → embed → store."""

import logging
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django_q.exceptions import TimeoutException

from documents.accounts import quotas
from documents.chunking.context_headers import with_headers
from documents.chunking.turns import TurnSplitter, is_transcript
from documents.conversations.transcripts import read_transcript
from documents.embedders import Embedder
from documents.errors import IngestError
from documents.ingestion.extraction import extract
from documents.intake import originals
from documents.jobs import queue
from documents.jobs.claims import Claim, LeaseLost
from documents.jobs.leases import Lease
from documents.metering.embeddings import MeteredEmbedder
from documents.models import (
    CONVERSATION_MEDIA_TYPE,
    Document,
    DocumentVersion,
    IndexProfile,
    IngestJob,
)
from documents.passages import Extracted, Passage
from documents.profiles import chunking_overrides, profiles
from ragsite.database.tenancy import namespace
from ragsite.platform import metrics
from ragsite.platform.logs import request_id
from ragsite.platform.spans import Span, span, times_of

from . import terms
from .embedding import embed
from .publishing import ChunkingChanged, ProfileSwitched, publish

logger = logging.getLogger(__name__)

Stage = IngestJob.Stage


class TookTooLong(IngestError):
    code = "timeout"


@dataclass(frozen=True, slots=True)
class Pieces:
    """The passages of a document; none has more than `limit` tokens."""

    passages: Sequence[Passage]
    limit: int
    warnings: tuple[str, ...] = ()


def ingest(claim: Claim) -> None:
    """Make one version searchable. Safe to run twice and to kill at any point."""
    with namespace(claim.namespace_id):
        jobs_and_more = IngestJob.objects.select_related(
            "version", "document", "namespace__active_profile"
        )
        try:
            job = jobs_and_more.get(pk=claim.job_id)
        except IngestJob.DoesNotExist:
            return  # deleted since it was claimed
    log_fields = {
        "job_id": str(job.pk),
        "document_id": str(job.document_id),
        "attempt": job.attempts,
    }
    with request_id(job.request_id or str(job.pk)):
        lease = Lease(claim)
        try:
            with lease, span("rag.indexer.index_documents", **_described(job)) as trace:
                passages = _index(job, lease)
                _measured(passages, lease, trace)
            logger.info(
                "ingest.done",
                extra={**log_fields, "passages": passages, "times_ms": lease.times_ms},
            )
        except LeaseLost:
            logger.info("ingest.stopped", extra=log_fields)
        except TimeoutException:
            late = TookTooLong("Indexing took longer than JOB_TIMEOUT allows.")
            _failed(claim, lease, late, log_fields)
        except Exception as error:
            _failed(claim, lease, error, log_fields)


def _failed(claim: Claim, lease: Lease, error: Exception, log_fields: Mapping[str, Any]) -> None:
    code = error.code if isinstance(error, IngestError) else "internal_error"
    metrics.INGEST_FAILURES.labels(code).inc()
    if not queue.fail(claim, error, at=lease.unwritten):
        logger.info("ingest.stopped", extra=log_fields)
        return
    is_unexpected = not (isinstance(error, IngestError) and error.is_final)
    exc_info = error if is_unexpected else None
    logger.warning("ingest.failed", extra={**log_fields, "code": code}, exc_info=exc_info)


def _described(job: IngestJob) -> dict[str, Any]:
    profile = job.namespace.active_profile
    return {
        "namespace": job.namespace_id,
        "document": job.document_id,
        "attempt": job.attempts,
        "profile": profile.name,
        "embedder": profile.embedder,
    }


def _measured(passages: int, lease: Lease, trace: Span) -> None:
    trace.set(chunks=passages, **times_of(lease.times_ms))
    metrics.INGESTED_FILES.labels("ready").inc()
    metrics.INGESTED_CHUNKS.inc(passages)
    for stage, ms in lease.times_ms.items():
        metrics.INGEST_STAGES.labels(stage).observe(ms / 1000)


def _index(job: IngestJob, lease: Lease) -> int:
    version = job.version
    profile = job.namespace.active_profile
    requested: Mapping[str, Any] = chunking_overrides.requested_by(job.document)
    profiles.embedder_of(profile)  # fail before reading the file if there is no embedder
    with lease.stage(Stage.EXTRACT):
        extracted = read_original(version)
    while True:
        with lease.stage(Stage.SPLIT):
            embedder = metered(profile, lease)
            pieces = split(profile, requested, extracted, embedder, job.namespace_id)
        passages = pieces.passages
        with namespace(job.namespace_id):  # before paying for embeddings
            more = len(passages) - job.document.chunks_count
            quotas.require_room(job.namespace_id, chunks=more)
        with lease.stage(Stage.EMBED):
            vectors = embed_passages(profile, job.document, version, extracted, pieces, lease)
        try:
            with lease.stage(Stage.STORE):
                read = replace(extracted, warnings=(*extracted.warnings, *pieces.warnings))
                is_stale = publish(
                    lease, version, profile, read, passages, vectors, chunking=requested
                )
            break
        except ProfileSwitched as switched:  # while embedding: start again under the new one
            profile = switched.profile
        except ChunkingChanged as changed:
            requested = changed.chunking
    if is_stale:
        terms.count(version.namespace_id, profile)
    return len(passages)


def read_original(version: DocumentVersion) -> Extracted:
    if version.media_type == CONVERSATION_MEDIA_TYPE:
        return read_transcript(version)
    original = originals.opened(version.storage_key, sha256=version.content_sha256)
    with original as file:
        return extract(
            file,
            media_type=version.media_type,
            name=version.file_name,
            encoding=version.encoding,
        )


def split(
    profile: IndexProfile,
    requested: Mapping[str, Any],
    extracted: Extracted,
    embedder: Embedder,
    namespace_id: uuid.UUID | None = None,
) -> Pieces:
    """Split a document into passages; `requested` contains the document's own chunking options.

    A language model is asked for topics only if there is a namespace to charge. Conversations are
    split into turns whatever the profile's chunker is.
    """
    if is_transcript(extracted):
        turns = TurnSplitter(embedder.count_tokens, limit=embedder.max_tokens)
        return Pieces(turns.split(extracted), turns.limit)
    splitter, warnings = chunking_overrides.splitter_for_document(
        profile, embedder, requested, namespace_id=namespace_id
    )
    passages = splitter.split(extracted)
    return Pieces(passages, splitter.sizes.limit, (*warnings, *splitter.warnings))


def embed_passages(
    profile: IndexProfile,
    document: Document,
    version: DocumentVersion,
    extracted: Extracted,
    pieces: Pieces,
    lease: Lease,
) -> list[str]:
    embedder = metered(profile, lease)
    texts = texts_of(profile, document, extracted, pieces, embedder)
    return embed(version, texts, embedder, lease)


def texts_of(
    profile: IndexProfile,
    document: Document,
    extracted: Extracted,
    pieces: Pieces,
    embedder: Embedder,
) -> list[str]:
    """Return the texts to embed: each passage, under its headings if the profile wants them."""
    if not profile.contextual_header:
        return [passage.text for passage in pieces.passages]
    return with_headers(
        pieces.passages,
        title=document.given.get("title") or extracted.title,
        count_tokens=embedder.count_tokens,
        limit=embedder.whole_windows(pieces.limit),
    )


def metered(profile: IndexProfile, lease: Lease) -> MeteredEmbedder:
    claim = lease.claim
    return MeteredEmbedder(profiles.embedder_of(profile), claim.namespace_id, claim.job_id)
