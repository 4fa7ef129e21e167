"""Deleting a document: out of search and out of the tables in one transaction, then the files."""

import logging
import uuid
from dataclasses import dataclass

from django.db.models import F

from ragsite.tenancy import namespace

from . import audit, originals
from .models import Chunk, Document, DocumentVersion, Fact, IngestJob, Namespace
from .publishing import hold_pointer

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RemovalReceipt:
    """What was removed, for whoever has to prove it."""

    document_id: uuid.UUID
    source_uri: str
    versions: int
    chunks: int
    facts: int
    jobs: int
    files: int
    files_left: list[str]  # storage keys that could not be removed


def remove(namespace_id: uuid.UUID, document_id: uuid.UUID) -> RemovalReceipt:
    """Raises Document.DoesNotExist if the namespace has no such document."""
    with namespace(namespace_id):
        document = Document.objects.select_for_update().get(pk=document_id)
        versions = DocumentVersion.objects.filter(document=document)
        keys = list(versions.values_list("storage_key", flat=True))
        jobs = IngestJob.objects.filter(document=document).count()
        active = hold_pointer(namespace_id).profile_id
        searchable = Chunk.objects.filter(document=document, profile=active).count()
        chunks, _ = Chunk.objects.filter(document=document).delete()
        facts, _ = Fact.objects.filter(document=document).delete()
        # The database's own cascade takes versions, jobs and cached embeddings; a job at work
        # finds its row gone at its next write and stops.
        Document.objects.filter(pk=document_id).delete()
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
        files=len(keys) - len(left),
        files_left=left,
    )
