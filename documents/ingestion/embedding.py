"""Vectors for a version's passages, from the cache or from the embedding model."""

import hashlib
import uuid
from collections.abc import Mapping, Sequence
from itertools import islice

from django.db import connection

from documents.jobs.leases import Lease
from documents.metering.embeddings import MeteredEmbedder
from documents.models import DocumentVersion
from ragsite.database.tenancy import query_in_namespace

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


def embed(
    version: DocumentVersion, texts: Sequence[str], embedder: MeteredEmbedder, lease: Lease
) -> list[str]:
    """Return one vector per text, in order, in PostgreSQL's text format. Each batch is cached as
    soon as it is computed, so a retry resumes."""
    hashes = [hashlib.sha256(text.encode()).digest() for text in texts]
    known = cached(version.namespace_id, embedder, hashes)
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


def cached(
    namespace_id: uuid.UUID, embedder: MeteredEmbedder, hashes: Sequence[bytes]
) -> dict[bytes, str]:
    """Return the vectors that are in the cache, as text."""
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
