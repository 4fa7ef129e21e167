"""Build a profile's chunks next to the live ones, document by document, at a limited pace.

What is missing is determined from the tables each time, so a builder that was killed leaves nothing
to repair, and documents that were added, changed or deleted in the meantime need no bookkeeping.
"""

import logging
import time
import uuid
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import connection
from django.db.models import F
from django.db.models.functions import Now
from django_q.exceptions import TimeoutException

from documents.errors import BadFile, CostCap, EmbeddingFailed, IngestError
from documents.ingestion import pipeline, terms
from documents.ingestion.publishing import publish_for_reindex
from documents.jobs import queue
from documents.jobs.claims import Claim, LeaseLost
from documents.jobs.leases import BuildLease
from documents.memory import vectors as fact_vectors
from documents.models import Chunk, Document, DocumentVersion, IndexProfile, Namespace, Reindex
from documents.models.webhooks import EventType
from documents.profiles import chunking_overrides, profiles, vector_indexes
from documents.stores import feeding
from documents.webhooks import events
from ragsite.database.tenancy import namespace
from ragsite.platform.logs import request_id

from . import copying

logger = logging.getLogger(__name__)

State, Stage = Reindex.State, Reindex.Stage
BATCH_SIZE = 50  # documents looked up at a time
MAX_PAUSE_SECONDS = 30.0  # seconds after one document
RETRY_SECONDS = 2.0  # for documents that another job is working on
MAX_ATTEMPTS = 3  # attempts with a document that fails because of an internal error


class TextChanged(BadFile):
    code = "text_changed"


class BuildClaim(Claim):
    """The right to work on one reindex."""

    __slots__ = ()
    model = Reindex
    open_states = Reindex.OPEN


_MISSING = """
    SELECT version.id FROM documents_documentversion version
    WHERE version.namespace_id = %(namespace)s AND version.state = 'live'
      AND NOT (version.id = ANY (%(failed)s::uuid[]))
      AND NOT EXISTS (SELECT FROM documents_chunk chunk
                      WHERE chunk.version_id = version.id AND chunk.profile_id = %(profile)s)
"""


def claim(worker: str) -> BuildClaim | None:
    """Claim a reindex that has work and no builder; None when there is none."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT reindex_id, namespace_id FROM ragsite.reindexes_due(%s)",
            [settings.REINDEX["builders"]],
        )
        due = cursor.fetchall()
    for reindex_id, namespace_id in due:
        with namespace(namespace_id):
            rows = Reindex.objects.filter(pk=reindex_id, has_work=True, state__in=Reindex.OPEN)
            if claim := BuildClaim.take(rows, worker=worker):
                return claim
    return None


def requeue_stalled(dead_workers: Sequence[str] = ()) -> None:
    """Release the reindexes of dead workers and wake workers for those that are due."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT reindex_id, namespace_id FROM ragsite.reindexes_of(%s)", [list(dead_workers)]
        )
        for reindex_id, namespace_id in cursor.fetchall():
            with namespace(namespace_id):
                Reindex.objects.filter(pk=reindex_id, worker__in=dead_workers).update(
                    lease_until=None, lease_token=None
                )
        cursor.execute(
            "SELECT count(*) FROM ragsite.reindexes_due(%s)", [settings.REINDEX["builders"]]
        )
        (due,) = cursor.fetchone()
    for _ in range(min(due, settings.REINDEX["builders"])):
        queue.wake_workers()


def build(claim: BuildClaim, *, seconds: float | None = None) -> None:
    """Work on a reindex for a while, then release it. Safe to run twice and to kill any time."""
    log_fields = {"reindex_id": str(claim.job_id)}
    until = time.monotonic() + (settings.REINDEX["seconds"] if seconds is None else seconds)
    with request_id(str(claim.job_id)):
        try:
            with BuildLease(claim) as lease:
                is_done = _fill(claim, lease, until) and _complete(claim, lease, until)
            _release(claim)
            logger.info("reindex.worked", extra={**log_fields, "is_done": is_done})
        except LeaseLost:
            logger.info("reindex.stopped", extra=log_fields)
        except TimeoutException:
            _release(claim)
        except Exception as error:
            logger.warning("reindex.failed", extra=log_fields, exc_info=True)
            _postpone(claim, error)


def missing(
    namespace_id: uuid.UUID,
    profile_id: uuid.UUID,
    *,
    failed: Iterable[str] = (),
    at_most: int = 0,
) -> list[uuid.UUID]:
    """Return the live versions that have no chunks under a profile. Inside namespace()."""
    limit = f" ORDER BY version.id LIMIT {int(at_most)}" if at_most else ""
    with connection.cursor() as cursor:
        cursor.execute(
            _MISSING + limit,
            {"namespace": namespace_id, "profile": profile_id, "failed": list(failed)},
        )
        return [row[0] for row in cursor.fetchall()]


def _fill(claim: BuildClaim, lease: BuildLease, until: float) -> bool:
    """Index what is missing; False if documents are left for later."""
    lease.write(stage=Stage.DOCUMENTS)
    postponed: set[uuid.UUID] = set()
    while True:
        with namespace(claim.namespace_id):
            reindex = _open(claim)
            # Both profiles are kept complete: a version published under one is needed in both.
            skipped = [*reindex.failures, *map(str, postponed)]
            work = [
                (profile, version_id)
                for profile in (reindex.profile, reindex.replaces)
                for version_id in missing(
                    claim.namespace_id, profile.pk, failed=skipped, at_most=BATCH_SIZE
                )
            ]
        if not work:
            break
        for profile, version_id in work:
            if time.monotonic() > until or _uploads_are_waiting():
                return False
            if not _index_one(reindex, lease, profile, version_id):
                postponed.add(version_id)
    for profile in (reindex.profile, reindex.replaces):
        fact_vectors.fill(claim.namespace_id, profile)
    if postponed:
        lease.write(run_after=Now() + timedelta(seconds=RETRY_SECONDS))
    return not postponed


def _index_one(
    reindex: Reindex, lease: BuildLease, profile: IndexProfile, version_id: uuid.UUID
) -> bool:
    """Index one version; False if it has to wait for another job on the same document."""
    started = time.monotonic()
    with namespace(reindex.namespace_id):
        versions = DocumentVersion.objects.select_related("document")
        version = versions.filter(pk=version_id, state=DocumentVersion.State.LIVE).first()
    if version is None:
        return True  # deleted or replaced in the meantime
    is_done = True
    source = reindex.replaces if profile.pk == reindex.profile_id else reindex.profile
    try:
        is_done = copying.copy_version(
            lease, version, source=source, target=profile
        ) or _index_version(lease, profile, version)
    except BadFile as error:  # a retry will not help: the operator decides
        _note_failure(lease.claim, version, error.code, str(error))
    except (EmbeddingFailed, CostCap, profiles.ProfileMismatch, LeaseLost, TimeoutException):
        raise  # not this document's fault
    except Exception as error:
        if reindex.attempts < MAX_ATTEMPTS:
            raise
        logger.exception("reindex.document_failed", extra={"document_id": version.document_id})
        _note_failure(lease.claim, version, "internal_error", queue.internal_error_message(error))
    worked = time.monotonic() - started
    # Sleep in proportion to the work, so that the build takes only its share of a core.
    pause = min(worked * (1 / settings.REINDEX["share"] - 1), MAX_PAUSE_SECONDS)
    time.sleep(pause)
    lease.write(seconds_worked=F("seconds_worked") + worked + pause, attempts=0)
    return is_done


def _index_version(lease: BuildLease, profile: IndexProfile, version: DocumentVersion) -> bool:
    extracted = pipeline.read_original(version)
    if extracted.text != version.text:
        # This release extracts another text from the file than the one that indexed it. All
        # profiles' chunks refer to the text, so first the whole document is indexed again.
        _queue_again(version)
        return False
    requested = chunking_overrides.requested_by(version.document)
    embedder = pipeline.metered(profile, lease)
    pieces = pipeline.split(profile, requested, extracted, embedder, version.namespace_id)
    vectors = pipeline.embed_passages(profile, version.document, version, extracted, pieces, lease)
    extracted = replace(extracted, warnings=pieces.warnings)
    publish_for_reindex(lease, version, profile, extracted, pieces.passages, vectors, requested)
    return True


def _queue_again(version: DocumentVersion) -> None:
    with namespace(version.namespace_id):
        document = Document.objects.select_for_update().filter(pk=version.document_id).first()
        if document is None or document.jobs.filter(state__in=queue.OPEN_STATES).exists():
            return
        if document.document_version != version.number:
            raise TextChanged(
                "This release reads another text in it, and a newer version has failed: upload "
                "the document again."
            )
        queue.enqueue(document, version)


def _note_failure(claim: Claim, version: DocumentVersion, code: str, sentence: str) -> None:
    with namespace(claim.namespace_id):
        reindex = Reindex.objects.select_for_update().get(pk=claim.job_id)
        reindex.failures[str(version.pk)] = {
            "document_id": str(version.document_id),
            "version": version.number,
            "code": code,
            "message": sentence,
        }
        claim.write(failures=reindex.failures)


def _complete(claim: BuildClaim, lease: BuildLease, until: float) -> bool:
    """Build vector index and word statistics; mark the reindex built if nothing is missing."""
    with namespace(claim.namespace_id):
        reindex = _open(claim)
    lease.write(stage=Stage.INDEX)
    vector_indexes.ensure(reindex.profile)
    if not _stores_know_all(claim, lease, reindex, until):
        return False
    lease.write(stage=Stage.WORDS)
    for profile in (reindex.profile, reindex.replaces):
        terms.count_if_stale(claim.namespace_id, profile)
    describe_documents(claim.namespace_id)
    with namespace(claim.namespace_id):
        # Publishing writes this row, so no document can come between the check and the write.
        reindex = Reindex.objects.select_for_update().get(pk=claim.job_id)
        failed = list(reindex.failures)
        if any(
            missing(claim.namespace_id, profile_id, failed=failed, at_most=1)
            for profile_id in (reindex.profile_id, reindex.replaces_id)
        ):
            return False
        if any(
            fact_vectors.missing(claim.namespace_id, profile, at_most=1)
            for profile in (reindex.profile, reindex.replaces)
        ):
            return False
        is_first = reindex.state == State.BUILDING
        claim.write(
            has_work=False,
            stage=Stage.DONE,
            error_code="",
            error_message="",
            **({"state": State.BUILT, "built_at": Now()} if is_first else {}),
        )
        if is_first:
            _announce_finished(reindex)
    return True


def _stores_know_all(claim: BuildClaim, lease: BuildLease, reindex: Reindex, until: float) -> bool:
    """Sync both profiles' stores; False if some is left for later."""
    for profile in (reindex.profile, reindex.replaces):
        if profile.is_stored_outside and not feeding.catch_up(
            claim.namespace_id,
            profile,
            progress=lambda synced: lease.write(attempts=0),
            until=until,
        ):
            lease.write(run_after=Now() + timedelta(seconds=RETRY_SECONDS))
            return False
    return True


def _announce_finished(reindex: Reindex) -> None:
    """Announce that everything is indexed under the new profile, so that it can be switched to."""

    def describe() -> dict[str, Any]:
        return {
            "reindex_id": str(reindex.pk),
            "profile": reindex.profile.name,
            "replaces": reindex.replaces.name,
            "state": str(State.BUILT),
            "documents_count": reindex.documents_built,
            "failed_count": len(reindex.failures),
        }

    events.emit(EventType.REINDEX_FINISHED, describe)


def describe_documents(namespace_id: uuid.UUID) -> None:
    """Update documents' chunk counts and model to the active profile, in batches."""
    with namespace(namespace_id):
        tenant = Namespace.objects.select_related("active_profile").get(pk=namespace_id)
        ids = list(Document.objects.exclude(live_version=None).values_list("pk", flat=True))
    profile = tenant.active_profile
    for start in range(0, len(ids), 1000):
        with namespace(namespace_id), connection.cursor() as cursor:
            cursor.execute(  # two at once could deadlock on documents
                "SELECT pg_advisory_xact_lock(hashtextextended('describe' || %s, 0))",
                [str(namespace_id)],
            )
            cursor.execute(
                "UPDATE documents_document document SET chunks_count = own.chunks, "
                "  tokens_count = own.tokens, embedding_model = %(model)s, "
                "  embedding_dim = %(dimensions)s, ingestion_version = %(ingestion)s "
                "FROM (SELECT document_id, count(*) AS chunks, sum(tokens) AS tokens "
                "      FROM documents_chunk WHERE profile_id = %(profile)s "
                "      AND document_id = ANY (%(ids)s) GROUP BY document_id) own "
                "WHERE document.id = own.document_id AND (chunks_count, tokens_count, "
                "  embedding_model) IS DISTINCT FROM (own.chunks, own.tokens, %(model)s)",
                {
                    "model": profile.model_identity,
                    "dimensions": profile.dimensions,
                    "ingestion": profile.ingestion_version,
                    "profile": profile.pk,
                    "ids": ids[start : start + 1000],
                },
            )


def _open(claim: BuildClaim) -> Reindex:
    reindexes = Reindex.objects.select_related("profile", "replaces")
    reindex = reindexes.filter(pk=claim.job_id, state__in=Reindex.OPEN).first()
    if reindex is None or reindex.lease_token != claim.token:
        raise LeaseLost(claim.job_id)
    return reindex


def _uploads_are_waiting() -> bool:
    """Whether uploads are waiting, which are indexed before reindexes."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM ragsite.next_jobs(1)")
        return bool(cursor.fetchone()[0])


def _release(claim: BuildClaim) -> None:
    with suppress(LeaseLost), namespace(claim.namespace_id):
        if claim.held().filter(has_work=True).exists():
            claim.release(stage=Stage.WAITING)
            queue.wake_workers()
        else:
            claim.release()


def _postpone(claim: BuildClaim, error: Exception) -> None:
    """Retry later, with growing delays: a provider may be down or a disk full."""
    known = isinstance(error, IngestError)
    with suppress(LeaseLost), namespace(claim.namespace_id):
        attempts = claim.held().values_list("attempts", flat=True).first() or 0
        claim.release(
            stage=Stage.WAITING,
            attempts=F("attempts") + 1,
            run_after=Now() + timedelta(seconds=min(5 * 2**attempts, 600)),
            error_code=error.code if isinstance(error, IngestError) else "internal_error",
            error_message=str(error) if known else queue.internal_error_message(error),
        )


def remove_chunks(namespace_id: uuid.UUID, profile_id: uuid.UUID) -> int:
    """Delete a namespace's chunks under a profile, in batches, and its vectors of facts; return how
    many chunks."""
    removed = 0
    while True:
        with namespace(namespace_id):
            some = Chunk.objects.filter(namespace=namespace_id, profile=profile_id)
            ids = list(some.order_by().values_list("pk", flat=True)[:1000])
            if not ids:
                fact_vectors.remove(namespace_id, profile_id)
                return removed
            removed += Chunk.objects.filter(pk__in=ids).delete()[0]
