"""Vectors for a version's passages: from the cache where they are, from the model where not."""

import hashlib
from collections.abc import Mapping, Sequence
from itertools import islice

from django.db import connection

from documents.jobs.leases import Lease
from documents.metering.embeddings import MeteredEmbedder
from documents.models import DocumentVersion
from ragsite.database.tenancy import query_in_namespace

LOOK_UP = 1000  # hashes per query

_FIND = """
    SELECT text_sha256, embedding::text FROM documents_embeddingcache
    WHERE namespace_id = %(namespace)s AND model_identity = %(model)s
      AND text_sha256 = ANY (%(digests)s::bytea[])
"""
# Nothing for a document that was deleted meanwhile: the lease tells of it.
_REMEMBER = """
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
    """One vector per text, in order, as PostgreSQL writes them. Each batch is saved as it comes,
    so a retry resumes."""
    hashes = [hashlib.sha256(text.encode()).digest() for text in texts]
    known = _cached(version, embedder, hashes)
    missing = {
        digest: text for digest, text in zip(hashes, texts, strict=True) if digest not in known
    }
    done = len(texts) - len(missing)
    # Texts of like length together: nothing is wasted on filling short ones up.
    missing = dict(sorted(missing.items(), key=lambda item: len(item[1]), reverse=True))
    lease.progress(done, len(texts))
    digests = iter(missing)
    for vectors, tokens in embedder.embed_unbooked(list(missing.values())):
        batch = dict(zip(islice(digests, len(vectors)), map(as_text, vectors), strict=True))
        done += len(batch)
        with lease.advancing(done, len(texts)):
            _remember(version, embedder, batch)
            embedder.book(tokens)
        embedder.require_room()
        known.update(batch)
    return [known[digest] for digest in hashes]


def as_text(vector: Sequence[float]) -> str:
    """By hand, because it is made once and stored twice. Nine digits are all that single precision
    has."""
    return "[" + ",".join(["%.9g"] * len(vector)) % tuple(vector) + "]"


def _cached(
    version: DocumentVersion, embedder: MeteredEmbedder, hashes: Sequence[bytes]
) -> dict[bytes, str]:
    found: dict[bytes, str] = {}
    whose = {"namespace": version.namespace_id, "model": embedder.identity}
    for start in range(0, len(hashes), LOOK_UP):
        some = {**whose, "digests": list(hashes[start : start + LOOK_UP])}
        found.update(query_in_namespace(version.namespace_id, _FIND, some))
    return found


def _remember(
    version: DocumentVersion, embedder: MeteredEmbedder, batch: Mapping[bytes, str]
) -> None:
    """Inside namespace()."""
    digests = sorted(batch)  # one order for all, so no deadlocks
    with connection.cursor() as cursor:
        cursor.execute(
            _REMEMBER,
            {
                "namespace": version.namespace_id,
                "document": version.document_id,
                "model": embedder.identity,
                "digests": digests,
                "vectors": [batch[digest] for digest in digests],
            },
        )
