"""Delete documents: all rows in one transaction, then the stored files."""

import logging
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from django.db.models import F, Q, QuerySet

from documents.accounts import audit
from documents.intake import idempotency, originals
from documents.models import (
    Chunk,
    Document,
    DocumentVersion,
    Fact,
    FactStatement,
    IngestJob,
    Namespace,
)
from ragsite.database.tenancy import namespace

from .publishing import lock_active_profile

logger = logging.getLogger(__name__)

BATCH_SIZE = 100  # documents in one transaction


@dataclass(frozen=True, slots=True)
class RemovalReceipt:
    """What was removed, as evidence of the deletion."""

    document_id: uuid.UUID
    source_uri: str
    versions: int
    chunks: int
    facts: int
    jobs: int
    files: int
    files_left: list[str]  # storage keys that could not be removed


@dataclass(frozen=True, slots=True)
class BulkReceipt:
    """What was removed with many documents, or what a dry run would remove."""

    document_ids: list[uuid.UUID] = field(default_factory=list)
    versions: int = 0
    chunks: int = 0
    facts: int = 0
    jobs: int = 0
    files: int = 0
    files_left: list[str] = field(default_factory=list)

    def __add__(self, other: "BulkReceipt") -> "BulkReceipt":
        return BulkReceipt(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))


def remove(
    namespace_id: uuid.UUID,
    document_id: uuid.UUID,
    *,
    check: Callable[[Document], None] = lambda document: None,
) -> RemovalReceipt:
    """Delete one document. Raises Document.DoesNotExist.

    `check` gets the locked document first; if it raises, nothing is deleted.
    """
    with namespace(namespace_id):
        document = Document.objects.select_for_update().get(pk=document_id)
        check(document)
        versions = DocumentVersion.objects.filter(document=document)
        keys = list(versions.values_list("storage_key", flat=True))
        jobs = IngestJob.objects.filter(document=document).count()
        active = lock_active_profile(namespace_id).profile_id
        searchable = Chunk.objects.filter(document=document, profile=active).count()
        chunks, _ = Chunk.objects.filter(document=document).delete()
        facts, _ = _facts_of([document_id]).delete()
        # The database cascades to versions, jobs and cached embeddings; a running job stops when
        # its next write finds no row.
        Document.objects.filter(pk=document_id).delete()
        idempotency.forget([document_id])
        Namespace.objects.filter(pk=namespace_id).update(
            revision=F("revision") + 1, chunk_count=F("chunk_count") - searchable
        )
        removed = {"versions": len(keys), "chunks": chunks, "facts": facts, "jobs": jobs}
        audit.record("document.delete", target=document, details=removed)
    left = [key for key in keys if not originals.remove(key)]
    logger.info("document.removed", extra={"document_id": str(document_id), "chunks": chunks})
    return RemovalReceipt(
        document_id=document_id,
        source_uri=document.source_uri,
        versions=len(keys),
        chunks=chunks,
        facts=facts,
        jobs=jobs,
        files=sum(map(bool, keys)) - len(left),
        files_left=left,
    )


def remove_many(
    namespace_id: uuid.UUID,
    document_ids: Sequence[uuid.UUID],
    *,
    details: Mapping[str, Any] | None = None,
) -> BulkReceipt:
    """Delete the documents that still exist, in batches; a failure leaves only whole documents.

    `details` are recorded in the audit log and give the reason, such as the filter or the folder.
    """
    total = BulkReceipt()
    for start in range(0, len(document_ids), BATCH_SIZE):
        with namespace(namespace_id):
            total += _remove_some(namespace_id, document_ids[start : start + BATCH_SIZE], details)
    left = [key for key in total.files_left if not originals.remove(key)]
    logger.info("documents.removed", extra={"documents": len(total.document_ids)})
    return replace(total, files=total.files - len(left), files_left=left)


def estimate(document_ids: Sequence[uuid.UUID]) -> BulkReceipt:
    """Count what `remove_many` would remove. Inside namespace()."""
    versions = DocumentVersion.objects.filter(document__in=document_ids).count()
    return BulkReceipt(
        document_ids=list(document_ids),
        versions=versions,
        chunks=Chunk.objects.filter(document__in=document_ids).count(),
        facts=_facts_of(document_ids).count(),
        jobs=IngestJob.objects.filter(document__in=document_ids).count(),
        files=versions,
    )


def _facts_of(document_ids: Sequence[uuid.UUID]) -> QuerySet[Fact]:
    """Select facts from rows of these documents, and proposals extracted from them. Approved facts
    stay."""
    proposed = FactStatement.objects.filter(document__in=document_ids, is_approved=False)
    ids = list(proposed.exclude(fact=None).values_list("fact", flat=True))
    return Fact.objects.filter(Q(document__in=document_ids) | Q(pk__in=ids))


def _remove_some(
    namespace_id: uuid.UUID, document_ids: Sequence[uuid.UUID], details: Mapping[str, Any] | None
) -> BulkReceipt:
    """Delete the rows; `files_left` names all originals, for the caller to remove after commit."""
    documents = Document.objects.filter(pk__in=document_ids)
    # Always in the same order, so that two deletions cannot deadlock.
    ids = list(documents.order_by("pk").select_for_update().values_list("pk", flat=True))
    if not ids:
        return BulkReceipt()
    versions = DocumentVersion.objects.filter(document__in=ids)
    keys = list(versions.values_list("storage_key", flat=True))
    jobs = IngestJob.objects.filter(document__in=ids).count()
    active = lock_active_profile(namespace_id).profile_id
    searchable = Chunk.objects.filter(document__in=ids, profile=active).count()
    chunks, _ = Chunk.objects.filter(document__in=ids).delete()
    facts, _ = _facts_of(ids).delete()
    Document.objects.filter(pk__in=ids).delete()
    idempotency.forget(ids)
    Namespace.objects.filter(pk=namespace_id).update(
        revision=F("revision") + 1, chunk_count=F("chunk_count") - searchable
    )
    counts = {"versions": len(keys), "chunks": chunks, "facts": facts, "jobs": jobs}
    audit.record("document.delete", count=len(ids), details={**counts, **(details or {})})
    return BulkReceipt(ids, len(keys), chunks, facts, jobs, sum(map(bool, keys)), keys)
