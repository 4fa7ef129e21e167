"""The best candidates as they are stored: what each says, where it stands, and its vector."""

import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragsite.tenancy import id_array, looked_up

Vector = NDArray[np.float32]

_ROWS = """
    SELECT chunk.id, halfvec_send(chunk.embedding), chunk.version_id, version.number,
           document.title, document.source_uri, document.metadata::text, document.tags,
           document.language, chunk.metadata::text, chunk.section, chunk.page_start, chunk.kind,
           chunk.start, chunk."end", chunk.ordinal, terms.words_hash, chunk.tokens, chunk.content
    FROM documents_chunk chunk
    JOIN documents_chunkterms terms ON terms.chunk_id = chunk.id
    JOIN documents_document document ON document.id = chunk.document_id
    JOIN documents_documentversion version ON version.id = chunk.version_id
    WHERE chunk.id = ANY (%(ids)s::uuid[])
"""

_VECTORS = """
    SELECT id, halfvec_send(embedding) FROM documents_chunk WHERE id = ANY (%(ids)s::uuid[])
"""


@dataclass(frozen=True, slots=True)
class Row:
    packed_vector: bytes
    version_id: uuid.UUID
    document_version: int
    title: str
    source_uri: str
    document_metadata: str  # JSON, read only for those who are shown
    tags: list[str]
    language: str
    chunk_metadata: str
    section: str
    page: int | None
    kind: str
    start: int
    end: int
    ordinal: int
    words_hash: int
    tokens: int
    content: str

    @property
    def stretch(self) -> tuple[object, ...] | None:
        """Of running text, within which neighbours read on; None for tables and code."""
        return (self.version_id, self.section, self.page) if self.kind == "text" else None

    @property
    def metadata(self) -> dict[str, Any]:
        return {**json.loads(self.document_metadata), **json.loads(self.chunk_metadata)}


def fetch_rows(chunk_ids: Sequence[uuid.UUID]) -> dict[uuid.UUID, Row]:
    """In one statement, under row-level security. Inside namespace()."""
    if not chunk_ids:
        return {}
    return {row[0]: Row(*row[1:]) for row in looked_up(_ROWS, {"ids": id_array(chunk_ids)})}


def vectors_of(rows: Mapping[uuid.UUID, Row]) -> dict[uuid.UUID, Vector]:
    return _unpacked({chunk_id: row.packed_vector for chunk_id, row in rows.items()})


def fetch_vectors(chunk_ids: Sequence[uuid.UUID]) -> dict[uuid.UUID, Vector]:
    """Of those that are there, and nothing else of them. Inside namespace()."""
    return _unpacked(dict(looked_up(_VECTORS, {"ids": id_array(chunk_ids)}))) if chunk_ids else {}


def _unpacked(packed: Mapping[uuid.UUID, bytes]) -> dict[uuid.UUID, Vector]:
    """Of length one. All are of one profile, and so of one number of dimensions."""
    if not packed:
        return {}
    # pgvector's wire format: two bytes of dimensions, two unused, then half-precision numbers.
    numbers = b"".join([vector[4:] for vector in packed.values()])
    matrix = np.frombuffer(numbers, dtype=">f2").reshape(len(packed), -1).astype(np.float32)
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    return dict(zip(packed, matrix / np.where(lengths, lengths, 1), strict=True))
