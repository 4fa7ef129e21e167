"""A stored chunk, with the fields of its document."""

import json
import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class StoredChunk:
    version_id: uuid.UUID
    document_version: int
    title: str
    source_uri: str
    document_metadata: str  # JSON, parsed only for chunks that are shown
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
    collections: list[str]  # names; ids of those without one

    @property
    def stretch(self) -> tuple[object, ...]:
        """Chunks with the same value are consecutive text: one section, on one page."""
        return (self.version_id, self.section, self.page)

    @property
    def table_header(self) -> str:
        """The header of table rows, if it is in another chunk; otherwise ""."""
        if "table_header" not in self.chunk_metadata:  # most chunks: skip parsing the JSON
            return ""
        header: str = json.loads(self.chunk_metadata).get("table_header", "")
        return header

    @property
    def metadata(self) -> dict[str, Any]:
        """The document's metadata, which filters apply to."""
        return dict(json.loads(self.document_metadata))

    @property
    def own_metadata(self) -> dict[str, Any]:
        return dict(json.loads(self.chunk_metadata))
