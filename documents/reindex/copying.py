"""Copy chunks from another profile that would have the same chunks, instead of reading, splitting
and embedding again. A namespace that only moves to another store or vector index needs no model
calls."""

import uuid
from typing import Any

from django.db import connection
from django.db.models import F

from documents.ingestion.publishing import lock_active_profile
from documents.jobs.leases import BuildLease
from documents.models import Chunk, Document, DocumentVersion, IndexProfile, Namespace
from documents.profiles import profiles
from ragsite.database.tenancy import namespace

# The settings that determine chunks and vectors.
DECISIVE = (
    "chunker",
    "chunker_options",
    "chunk_size",
    "chunk_overlap",
    "contextual_header",
    "model_identity",
    "dimensions",
    "ingestion_version",
)
COPIED = (
    "namespace_id, document_id, version_id, ordinal, kind, content, tokens, section, start, "
    '"end", page_start, page_end, metadata, chunk_hash, embedding'
)
_CHUNKS = f"""
    INSERT INTO documents_chunk (id, profile_id, {COPIED})
    SELECT fresh.new, %(profile)s, {COPIED} FROM documents_chunk chunk
    JOIN unnest(%(old)s::uuid[], %(new)s::uuid[]) fresh (old, new) ON fresh.old = chunk.id
"""  # noqa: S608  (constants only)
_WORDS = """
    INSERT INTO documents_chunkterms
        (chunk_id, namespace_id, profile_id, document_id, kind, place, words_hash, search_vector,
         impacts)
    SELECT fresh.new, terms.namespace_id, %(profile)s, terms.document_id, terms.kind,
           ragsite.place(terms.namespace_id, %(profile)s), terms.words_hash, terms.search_vector,
           terms.impacts
    FROM documents_chunkterms terms
    JOIN unnest(%(old)s::uuid[], %(new)s::uuid[]) fresh (old, new) ON fresh.old = terms.chunk_id
"""


def copy_version(
    lease: BuildLease, version: DocumentVersion, *, source: IndexProfile, target: IndexProfile
) -> bool:
    """Copy the chunks of the other profile if they would be the same; False otherwise."""
    if not target.model_identity:
        profiles.embedder_of(target)  # records it
    return is_same(source, target) and copy_chunks(lease, version, source=source, target=target)


def is_same(one: IndexProfile, other: IndexProfile) -> bool:
    """Whether the same text gives the same chunks with the same vectors under both."""
    return bool(one.model_identity) and all(
        getattr(one, field) == getattr(other, field) for field in DECISIVE
    )


def copy_chunks(
    lease: BuildLease, version: DocumentVersion, *, source: IndexProfile, target: IndexProfile
) -> bool:
    """Copy a live version's chunks with their words; False if there are none to copy."""
    with namespace(version.namespace_id):
        document = Document.objects.select_for_update().filter(pk=version.document_id).first()
        if document is None or document.live_version != version.number:
            return True  # deleted or replaced meanwhile
        active = lock_active_profile(version.namespace_id)
        chunks = Chunk.objects.filter(version=version, profile=source)
        rows = list(chunks.values_list("pk", "ordinal"))
        if not rows:
            return False
        lease.claim.write(
            documents_built=F("documents_built") + 1, chunks_built=F("chunks_built") + len(rows)
        )
        removed, _ = Chunk.objects.filter(document=document, profile=target).delete()
        # As in ingestion/chunk_rows.py.
        fresh = [uuid.uuid5(version.pk, f"{target.pk}/{ordinal}") for _, ordinal in rows]
        parameters: dict[str, Any] = {
            "profile": target.pk,
            "old": [pk for pk, _ in rows],
            "new": fresh,
        }
        with connection.cursor() as cursor:
            cursor.execute(_CHUNKS, parameters)
            cursor.execute(_WORDS, parameters)
        if target.pk == active.profile_id:  # after a rollback to a profile that was incomplete
            Namespace.objects.filter(pk=version.namespace_id).update(
                revision=F("revision") + 1, chunk_count=F("chunk_count") + len(rows) - removed
            )
    return True
