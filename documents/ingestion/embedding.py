"""Vectors for a version's passages, from the cache or from the embedding model."""

import hashlib
import uuid
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any

from django.db import connection

from documents.embedders.base import Vectors
from documents.jobs.leases import Lease
from documents.metering.embeddings import MeteredEmbedder
from documents.models import DocumentVersion
from ragsite.database.tenancy import namespace, query_in_namespace

LOOKUP_BATCH = 1000  # hashes per query

_FIND = """
    SELECT text_sha256, embedding::text FROM documents_embeddingcache
    WHERE namespace_id = %(namespace)s AND model_identity = %(model)s
      AND text_sha256 = ANY (%(digests)s::bytea[])
"""
# Inserts nothing for a deleted document; the lease notices that.
_STORE = """
    INSERT INTO documents_embeddingcache
        (namespace_id, document_id, model_identity, text_sha256, embedding)
    SELECT %(namespace)s, document.id, %(model)s, cached.digest, cached.vector::vector
    FROM (SELECT id FROM documents_document WHERE id = %(document)s FOR KEY SHARE) document
    CROSS JOIN unnest(%(digests)s::bytea[], %(vectors)s::text[]) AS cached (digest, vector)
    ON CONFLICT DO NOTHING
"""

# For many documents at once; documents that were deleted in the meantime are left out.
_STORE_AHEAD = """
    WITH present AS (
        SELECT id FROM documents_document WHERE id = ANY (%(documents)s::uuid[])
        ORDER BY id FOR KEY SHARE
    )
    INSERT INTO documents_embeddingcache
        (namespace_id, document_id, model_identity, text_sha256, embedding)
    SELECT %(namespace)s, present.id, %(model)s, cached.digest, cached.vector::vector
    FROM unnest(%(digests)s::bytea[], %(documents)s::uuid[], %(vectors)s::text[])
         AS cached (digest, document, vector)
    JOIN present ON present.id = cached.document
    ORDER BY cached.digest
    ON CONFLICT DO NOTHING
"""


def embed(
    version: DocumentVersion, texts: Sequence[str], embedder: MeteredEmbedder, lease: Lease
) -> list[str]:
    """Return one vector per text, in order, in PostgreSQL's text format. Each batch is cached as
    soon as it is computed, so a retry resumes."""
    hashes = [hashlib.sha256(text.encode()).digest() for text in texts]
    known = _cached(version.namespace_id, embedder, hashes)
    missing = {
        digest: text for digest, text in zip(hashes, texts, strict=True) if digest not in known
    }
    done = len(texts) - len(missing)
    # Texts of similar length go together, so that little is wasted on padding.
    missing = dict(sorted(missing.items(), key=lambda item: len(item[1]), reverse=True))
    lease.progress(done, len(texts))
    digests = iter(missing)
    for vectors, tokens in embedder.embed_unbooked(list(missing.values())):
        batch = dict(zip(islice(digests, len(vectors)), map(as_text, vectors), strict=True))
        done += len(batch)
        with lease.advancing(done, len(texts)):
            _store(version, embedder, batch)
            embedder.book(tokens)
        embedder.require_room()
        known.update(batch)
    return [known[digest] for digest in hashes]


def as_text(vector: Sequence[float]) -> str:
    """Format a vector once, for both tables it is stored in. Single precision has nine digits."""
    return "[" + ",".join(["%.9g"] * len(vector)) % tuple(vector) + "]"


def embed_ahead(
    namespace_id: uuid.UUID,
    texts: Mapping[uuid.UUID, Sequence[str]],
    embedder: MeteredEmbedder,
    *,
    workers: int,
) -> None:
    """Store the vectors of these texts, by document, in the cache, where `embed` finds them."""
    owners = {
        hashlib.sha256(text.encode()).digest(): (document_id, text)
        for document_id, own in texts.items()
        for text in own
    }
    known = _cached(namespace_id, embedder, list(owners))
    missing = sorted(
        ((digest, *owner) for digest, owner in owners.items() if digest not in known),
        key=lambda row: len(row[2]),
        reverse=True,
    )
    size = embedder.batch_size
    batches = [missing[start : start + size] for start in range(0, len(missing), size)]

    def embedded(batch: Sequence[tuple[bytes, uuid.UUID, str]]) -> tuple[Vectors, int]:
        (found,) = embedder.embed_unbooked([text for _, _, text in batch])
        return found

    with ThreadPoolExecutor(workers) as pool:
        for batch, (vectors, tokens) in zip(batches, pool.map(embedded, batches), strict=True):
            rows = [(*row[:2], as_text(vector)) for row, vector in zip(batch, vectors, strict=True)]
            with namespace(namespace_id):
                _store_ahead(namespace_id, embedder, sorted(rows))
                embedder.book(tokens)
            embedder.require_room()


def _store_ahead(
    namespace_id: uuid.UUID,
    embedder: MeteredEmbedder,
    rows: Sequence[tuple[bytes, uuid.UUID, str]],
) -> None:
    """Inside namespace()."""
    digests, documents, vectors = map(list, zip(*rows, strict=True))
    parameters: dict[str, Any] = {
        "namespace": namespace_id,
        "model": embedder.identity,
        "digests": digests,
        "documents": documents,
        "vectors": vectors,
    }
    with connection.cursor() as cursor:
        cursor.execute(_STORE_AHEAD, parameters)


def _cached(
    namespace_id: uuid.UUID, embedder: MeteredEmbedder, hashes: Sequence[bytes]
) -> dict[bytes, str]:
    found: dict[bytes, str] = {}
    key = {"namespace": namespace_id, "model": embedder.identity}
    for start in range(0, len(hashes), LOOKUP_BATCH):
        parameters = {**key, "digests": list(hashes[start : start + LOOKUP_BATCH])}
        found.update(query_in_namespace(namespace_id, _FIND, parameters))
    return found


def _store(version: DocumentVersion, embedder: MeteredEmbedder, batch: Mapping[bytes, str]) -> None:
    """Inside namespace()."""
    digests = sorted(batch)  # always in the same order, so no deadlocks
    with connection.cursor() as cursor:
        cursor.execute(
            _STORE,
            {
                "namespace": version.namespace_id,
                "document": version.document_id,
                "model": embedder.identity,
                "digests": digests,
                "vectors": [batch[digest] for digest in digests],
            },
        )
