"""Read chunks from the tables as points for a store. Call every function inside namespace()."""

import json
import uuid
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

import numpy as np

from ragsite.database.tenancy import current_connection

from .base import DOCUMENT, Fields, StoredPoint, Words
from .facets import facets_of

PAGE = 256  # points per call

_DOCUMENTS = """
    SELECT document.id, document.tags, document.metadata, document.source_type, document.language,
           document.dated_at,
           ARRAY(SELECT member.collection_id::text FROM documents_collectiondocument member
                 WHERE member.document_id = document.id)
    FROM documents_document document WHERE document.id = ANY (%(documents)s::uuid[])
"""
# pgvector's binary formats: reading 384 numbers as text takes many times longer.
_CHUNKS = """
    SELECT chunk.id, chunk.document_id, chunk.kind, halfvec_send(chunk.embedding),
           sparsevec_send(terms.impacts)
    FROM documents_chunk chunk
    LEFT JOIN documents_chunkterms terms ON terms.chunk_id = chunk.id
    WHERE chunk.document_id = ANY (%(documents)s::uuid[]) AND chunk.profile_id = %(profile)s
      AND (%(after)s::uuid IS NULL OR chunk.id > %(after)s::uuid)
    ORDER BY chunk.id LIMIT %(limit)s
"""


def page_of(
    profile_id: uuid.UUID,
    documents: Sequence[uuid.UUID],
    *,
    after: uuid.UUID | None,
    limit: int = PAGE,
) -> list[StoredPoint]:
    """Return the next points of these documents, in the order of their ids."""
    with current_connection().cursor() as cursor:
        cursor.execute(_DOCUMENTS, {"documents": list(documents)})
        fields = {row[0]: _fields(*row) for row in cursor.fetchall()}
        cursor.execute(
            _CHUNKS,
            {
                "documents": list(documents),
                "profile": profile_id,
                "after": after,
                "limit": limit,
            },
        )
        rows = cursor.fetchall()
    return [
        StoredPoint(
            chunk_id, _vector(packed), _words(impacts), {**fields[document_id], "kind": kind}
        )
        for chunk_id, document_id, kind, packed, impacts in rows
    ]


def _fields(
    document_id: uuid.UUID,
    tags: list[str],
    metadata: str,
    source_type: str,
    language: str,
    dated_at: datetime,
    collections: list[str],
) -> Fields:
    return {
        DOCUMENT: str(document_id),
        "tags": tags,
        "facets": facets_of(json.loads(metadata, parse_float=Decimal)),
        "source_type": source_type,
        "language": language,
        "dated_at": dated_at.timestamp(),
        "collections": collections,
    }


def _vector(packed: bytes) -> Any:
    # Two bytes for the number of dimensions, two unused, then half-precision numbers.
    return np.frombuffer(packed, dtype=">f2", offset=4).astype(np.float32)


def _words(packed: bytes | None) -> Words:
    """Return positions counted from 1, as in the text form that questions use (bm25.sparse)."""
    if packed is None:
        return {}
    _, count, _ = np.frombuffer(packed, dtype=">i4", count=3)
    places = np.frombuffer(packed, dtype=">i4", count=count, offset=12)
    weights = np.frombuffer(packed, dtype=">f4", count=count, offset=12 + 4 * int(count))
    return dict(zip((places + 1).tolist(), weights.tolist(), strict=True))
