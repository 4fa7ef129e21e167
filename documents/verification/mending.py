"""Repairs: queue documents again, delete orphans, recount. Each takes the ids that a check has
found. None deletes a document, a version or a turn."""

import uuid
from contextlib import suppress

from django.db import connection

from documents.accounts import namespace_removal
from documents.errors import IngestError
from documents.ingestion import bulk_removal, terms
from documents.intake import intake, originals
from documents.jobs import queue
from documents.memory import checking
from documents.memory import vectors as fact_vectors
from documents.models import (
    Chunk,
    Document,
    DocumentVersion,
    EmbeddingCache,
    IngestJob,
    Namespace,
    NamespaceUsage,
)
from documents.reindex import build
from ragsite.database.tenancy import namespace

from .checks import AuditScope, Mend

# A publisher updates the chunk count last, while it holds the namespace's row: lock that first.
_COUNT_CHUNKS = """
    UPDATE documents_namespace tenant
    SET revision = revision + 1, chunk_count = (
        SELECT count(*) FROM documents_chunk
        WHERE namespace_id = tenant.id AND profile_id = tenant.active_profile_id)
    WHERE tenant.id = %(namespace)s
"""
_COUNT_USAGE = """
    INSERT INTO documents_namespaceusage (namespace_id, documents, bytes)
    SELECT %(namespace)s,
           (SELECT count(*) FROM documents_document WHERE namespace_id = %(namespace)s),
           (SELECT coalesce(sum(byte_size), 0) FROM documents_documentversion
            WHERE namespace_id = %(namespace)s)
    ON CONFLICT (namespace_id) DO UPDATE
    SET documents = excluded.documents, bytes = excluded.bytes
"""
_POINT_TO_LIVE = """
    UPDATE documents_document document SET live_version = version.number
    FROM documents_documentversion version
    WHERE document.id = ANY (%(ids)s::uuid[]) AND version.document_id = document.id
      AND version.namespace_id = document.namespace_id AND version.state = 'live'
"""
_FORGET_FACT_VECTORS = "DELETE FROM documents_factvector WHERE id = ANY (%(ids)s::bigint[])"


def _index_again(audited: AuditScope, ids: list[str]) -> int:
    queued = 0
    for document_id in ids:
        with suppress(Document.DoesNotExist, DocumentVersion.DoesNotExist):
            if _can_be_read_again(audited.tenant, uuid.UUID(document_id)):
                intake.resubmit(audited.tenant, uuid.UUID(document_id))
                queued += 1
    return queued


def _can_be_read_again(namespace_id: uuid.UUID, document_id: uuid.UUID) -> bool:
    """Whether indexing the newest version again would repair what is searchable. Without its
    original, it would only fail.
    """
    with namespace(namespace_id):
        document = Document.objects.get(pk=document_id)
        if document.live_version not in (None, document.document_version):
            return False
        version = DocumentVersion.objects.defer("text").get(
            document=document, number=document.document_version
        )
    if not version.storage_key:  # a conversation: its original is its turns
        return True
    try:
        return originals.size_of(version.storage_key) == version.byte_size
    except IngestError:
        return False


def _retry(audited: AuditScope, ids: list[str]) -> int:
    """Queue the newest version even if its original is missing: the next attempt ends in a final
    state."""
    for document_id in ids:
        with suppress(Document.DoesNotExist, DocumentVersion.DoesNotExist):
            intake.resubmit(audited.tenant, uuid.UUID(document_id))
    return len(ids)


def _point_to_live(audited: AuditScope, ids: list[str]) -> int:
    with namespace(audited.tenant), connection.cursor() as cursor:
        cursor.execute(_POINT_TO_LIVE, {"ids": ids})
    return _index_again(audited, ids)


def _cancel_versions(audited: AuditScope, ids: list[str]) -> int:
    with namespace(audited.tenant):
        open_jobs = IngestJob.objects.filter(state__in=queue.OPEN_STATES)
        stuck = DocumentVersion.objects.filter(pk__in=ids, state__in=("queued", "processing"))
        stuck.exclude(pk__in=open_jobs.values("version")).update(
            state=DocumentVersion.State.CANCELLED
        )
    return len(ids)


def _take_over(audited: AuditScope, ids: list[str]) -> int:
    queue.requeue_stalled()
    build.requeue_stalled()
    bulk_removal.wake_workers()
    namespace_removal.requeue_stalled()
    return len(ids)


def _delete_chunks(audited: AuditScope, ids: list[str]) -> int:
    with namespace(audited.tenant):
        Chunk.objects.filter(pk__in=ids).delete()
    _count_chunks(audited, [])
    return len(ids)


def _delete_profiles_chunks(audited: AuditScope, ids: list[str]) -> int:
    for profile_id in ids:
        build.remove_chunks(audited.tenant, uuid.UUID(profile_id))
    return len(ids)


def _forget_cached(audited: AuditScope, ids: list[str]) -> int:
    with namespace(audited.tenant):
        EmbeddingCache.objects.filter(pk__in=ids).delete()
    return len(ids)


def _count_chunks(audited: AuditScope, ids: list[str]) -> int:
    with namespace(audited.tenant), connection.cursor() as cursor:
        Namespace.objects.select_for_update().get(pk=audited.tenant)
        cursor.execute(_COUNT_CHUNKS, {"namespace": audited.tenant})
    return len(ids)


def _count_usage(audited: AuditScope, ids: list[str]) -> int:
    with namespace(audited.tenant), connection.cursor() as cursor:
        # Uploads add to this row inside their own transactions: none ends during the count.
        NamespaceUsage.objects.select_for_update().filter(pk=audited.tenant).first()
        cursor.execute(_COUNT_USAGE, {"namespace": audited.tenant})
    return len(ids)


def _count_words(audited: AuditScope, ids: list[str]) -> int:
    terms.recount(audited.tenant, audited.active_profile)
    return len(ids)


def _embed_facts(audited: AuditScope, ids: list[str]) -> int:
    with suppress(IngestError):  # the model does not respond: the finding remains
        fact_vectors.fill(audited.tenant, audited.active_profile)
    return len(ids)


def _embed_facts_again(audited: AuditScope, ids: list[str]) -> int:
    with namespace(audited.tenant), connection.cursor() as cursor:
        cursor.execute(_FORGET_FACT_VECTORS, {"ids": ids})
    _embed_facts(audited, ids)
    return len(ids)


def _work_out_facts(audited: AuditScope, ids: list[str]) -> int:
    checking.work_out(audited.tenant, ids)
    return len(ids)


def _delete_objects(audited: AuditScope, ids: list[str]) -> int:
    for key in ids:
        originals.remove(key)
    return len(ids)


INDEX_AGAIN = Mend(_index_again, "queued to be indexed again")
RETRY = Mend(_retry, "queued for another attempt")
POINT_TO_LIVE = Mend(_point_to_live, "pointed at the live version and queued to be indexed again")
CANCEL_VERSIONS = Mend(_cancel_versions, "marked as cancelled")
TAKE_OVER = Mend(_take_over, "offered to other workers")
DELETE_CHUNKS = Mend(_delete_chunks, "deleted")
DELETE_PROFILES_CHUNKS = Mend(_delete_profiles_chunks, "deleted")
FORGET_CACHED = Mend(_forget_cached, "deleted from the cache")
COUNT_CHUNKS = Mend(_count_chunks, "counted again")
COUNT_USAGE = Mend(_count_usage, "counted again")
COUNT_WORDS = Mend(_count_words, "counted again")
EMBED_FACTS = Mend(_embed_facts, "embedded")
EMBED_FACTS_AGAIN = Mend(_embed_facts_again, "embedded again")
WORK_OUT_FACTS = Mend(_work_out_facts, "derived again")
DELETE_OBJECTS = Mend(_delete_objects, "deleted from the storage")
