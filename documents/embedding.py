"""Vectors for a version's passages: from the cache where they are, from the model where not."""

import hashlib
from collections.abc import Mapping, Sequence
from itertools import islice

from ragsite.tenancy import namespace

from .embedders import Embedder
from .leases import Lease
from .models import DocumentVersion, EmbeddingCache

Vector = Sequence[float]

LOOK_UP = 1000  # hashes per query


def embed(
    version: DocumentVersion, texts: Sequence[str], embedder: Embedder, lease: Lease
) -> list[Vector]:
    """One vector per text, in order. Each batch is saved as it comes, so a retry resumes."""
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
    for vectors in embedder.embed_documents(list(missing.values())):
        batch = dict(zip(islice(digests, len(vectors)), vectors, strict=True))
        _remember(version, embedder, batch)
        known.update(batch)
        done += len(batch)
        lease.progress(done, len(texts))
    return [known[digest] for digest in hashes]


def _cached(
    version: DocumentVersion, embedder: Embedder, hashes: Sequence[bytes]
) -> dict[bytes, Vector]:
    found: dict[bytes, Vector] = {}
    with namespace(version.namespace_id):
        for start in range(0, len(hashes), LOOK_UP):
            rows = EmbeddingCache.objects.filter(
                model_identity=embedder.identity,
                text_sha256__in=hashes[start : start + LOOK_UP],
            )
            for digest, vector in rows.values_list("text_sha256", "embedding"):
                found[bytes(digest)] = vector
    return found


def _remember(version: DocumentVersion, embedder: Embedder, batch: Mapping[bytes, Vector]) -> None:
    with namespace(version.namespace_id):
        EmbeddingCache.objects.bulk_create(
            [
                EmbeddingCache(
                    namespace_id=version.namespace_id,
                    document_id=version.document_id,
                    model_identity=embedder.identity,
                    text_sha256=digest,
                    embedding=vector,
                )
                for digest, vector in sorted(batch.items())  # one order, so no deadlocks
            ],
            ignore_conflicts=True,
        )
