"""The best candidates as they are stored: what each says, and where it stands."""

import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ragsite.database.tenancy import id_array, looked_up

_ROWS = """
    SELECT chunk.id, chunk.version_id, version.number,
           document.title, document.source_uri, document.metadata::text, document.tags,
           document.language, chunk.metadata::text, chunk.section, chunk.page_start, chunk.kind,
           chunk.start, chunk."end", chunk.ordinal, terms.words_hash, chunk.tokens, chunk.content,
           version.media_type, document.created_at, document.dated_at, chunk.page_end
    FROM documents_chunk chunk
    JOIN documents_chunkterms terms ON terms.chunk_id = chunk.id
    JOIN documents_document document ON document.id = chunk.document_id
    JOIN documents_documentversion version ON version.id = chunk.version_id
    WHERE chunk.id = ANY (%(ids)s::uuid[])
"""


@dataclass(frozen=True, slots=True)
class Row:
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
    media_type: str
    created_at: datetime
    dated_at: datetime
    page_end: int | None

    @property
    def stretch(self) -> tuple[object, ...]:
        """Within which neighbours read on: one section, on one page."""
        return (self.version_id, self.section, self.page)

    @property
    def table_header(self) -> str:
        """Of rows whose header stands in another chunk."""
        if "table_header" not in self.chunk_metadata:  # most: JSON is not read for them
            return ""
        header: str = json.loads(self.chunk_metadata).get("table_header", "")
        return header

    @property
    def metadata(self) -> dict[str, Any]:
        """The document's own: what filters on metadata see."""
        return dict(json.loads(self.document_metadata))

    @property
    def own_metadata(self) -> dict[str, Any]:
        return dict(json.loads(self.chunk_metadata))


def fetch_rows(chunk_ids: Sequence[uuid.UUID]) -> dict[uuid.UUID, Row]:
    """In one statement, under row-level security. Inside namespace()."""
    if not chunk_ids:
        return {}
    return {row[0]: Row(*row[1:]) for row in looked_up(_ROWS, {"ids": id_array(chunk_ids)})}
