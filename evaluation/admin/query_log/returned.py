"""The positions of a logged question's hits, with the current names of their documents."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from documents.models import Chunk, Document
from retrieval.models import QueryLog


@dataclass(frozen=True, slots=True)
class Returned:
    """An earlier hit; without a document if that was deleted since."""

    rank: int
    document_id: uuid.UUID
    start: int
    end: int
    relevance: float | None
    document: Document | None
    chunk: Chunk | None

    @property
    def title(self) -> str:
        return str(self.document) if self.document else "a document that was deleted since"

    @property
    def section(self) -> str:
        return self.chunk.section if self.chunk else ""


def returned_by(line: QueryLog) -> list[Returned] | None:
    """Return the hits in their order; None if the row does not contain them. Uses two
    statements."""
    if line.returned is None:
        return None
    documents = documents_by_id({uuid.UUID(hit["document"]) for hit in line.returned})
    chunks = Chunk.objects.only("section", "document_id").in_bulk(
        [uuid.UUID(hit["chunk"]) for hit in line.returned]
    )
    return [
        _returned(rank, hit, documents, chunks) for rank, hit in enumerate(line.returned, start=1)
    ]


def documents_by_id(ids: Sequence[uuid.UUID] | set[uuid.UUID]) -> dict[uuid.UUID, Document]:
    return Document.objects.only("title", "source_uri").in_bulk(list(ids))


def _returned(
    rank: int,
    hit: Mapping[str, Any],
    documents: Mapping[uuid.UUID, Document],
    chunks: Mapping[uuid.UUID, Chunk],
) -> Returned:
    document_id = uuid.UUID(hit["document"])
    return Returned(
        rank,
        document_id,
        hit["start"],
        hit["end"],
        hit["relevance"],
        documents.get(document_id),
        chunks.get(uuid.UUID(hit["chunk"])),
    )
