"""Vectors for the passages of many documents together."""

import hashlib
import time
import uuid
from collections.abc import Mapping, Sequence
from itertools import islice

from django.db import connection

from documents.ingestion.embedding import as_text, cached
from documents.metering.embeddings import MeteredEmbedder
from ragsite.database.tenancy import namespace

STORE_SECONDS = 2.0  # at most so much embedding is done again after a crash

# Documents that are deleted meanwhile are left out.
_STORE = """
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

Row = tuple[bytes, uuid.UUID, str]  # digest of a text, its document, its vector


def embed_together(
    namespace_id: uuid.UUID, texts: Mapping[uuid.UUID, Sequence[str]], embedder: MeteredEmbedder
) -> dict[uuid.UUID, list[str]]:
    """Return the vectors of these texts, by document, as text that PostgreSQL reads.

    They are embedded in batches of similar length. The cache has them before this returns, so that
    what was embedded before a crash is not embedded again.
    """
    digests = {
        document_id: [hashlib.sha256(text.encode()).digest() for text in own]
        for document_id, own in texts.items()
    }
    owners = {
        digest: (document_id, text)
        for document_id, own in texts.items()
        for digest, text in zip(digests[document_id], own, strict=True)
    }
    known = cached(namespace_id, embedder, list(owners))
    missing = sorted(owners.keys() - known.keys(), key=lambda d: len(owners[d][1]), reverse=True)
    known.update(_embedded(namespace_id, missing, owners, embedder))
    return {document_id: [known[digest] for digest in own] for document_id, own in digests.items()}


def _embedded(
    namespace_id: uuid.UUID,
    digests: Sequence[bytes],
    owners: Mapping[bytes, tuple[uuid.UUID, str]],
    embedder: MeteredEmbedder,
) -> dict[bytes, str]:
    found: dict[bytes, str] = {}
    unstored: list[Row] = []
    spent, stored_at, waiting = 0, time.monotonic(), iter(digests)
    for vectors, tokens in embedder.embed_unbooked([owners[digest][1] for digest in digests]):
        spent += tokens
        for digest, vector in zip(islice(waiting, len(vectors)), vectors, strict=True):
            found[digest] = as_text(vector)
            unstored.append((digest, owners[digest][0], found[digest]))
        if time.monotonic() - stored_at > STORE_SECONDS:
            _store(namespace_id, embedder, unstored, spent)
            unstored, spent, stored_at = [], 0, time.monotonic()
    if unstored:
        _store(namespace_id, embedder, unstored, spent)
    return found


def _store(
    namespace_id: uuid.UUID, embedder: MeteredEmbedder, rows: Sequence[Row], tokens: int
) -> None:
    digests, documents, vectors = zip(*sorted(rows), strict=True)  # sorted: no deadlocks
    with namespace(namespace_id):
        with connection.cursor() as cursor:
            cursor.execute(
                _STORE,
                {
                    "namespace": namespace_id,
                    "model": embedder.identity,
                    "digests": list(digests),
                    "documents": list(documents),
                    "vectors": list(vectors),
                },
            )
        embedder.book(tokens)
    embedder.require_room()
