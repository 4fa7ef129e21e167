"""Insert a version's chunks and their words, in the transaction that publishes them."""

import hashlib
import json
import uuid
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from django.db import connection

from documents.models import Document, DocumentVersion, IndexProfile
from documents.passages import Extracted, Page, Passage

from . import terms

INSERT_BATCH = 500
# Not bulk_create, which spends most of its time building a statement with so many values.
INSERT = """
INSERT INTO documents_chunk (namespace_id, profile_id, document_id, version_id,
                             id, ordinal, kind, content, tokens, section, start, "end",
                             page_start, page_end, metadata, chunk_hash, embedding)
SELECT %s, %s, %s, %s, chunk.*
FROM unnest(%s::uuid[], %s::int[], %s::text[], %s::text[], %s::int[], %s::text[], %s::int[],
            %s::int[], %s::int[], %s::int[], %s::jsonb[], %s::text[], %s::halfvec[]) AS chunk
"""


def insert_chunks(
    document: Document,
    version: DocumentVersion,
    profile: IndexProfile,
    extracted: Extracted,
    passages: Sequence[Passage],
    vectors: Sequence[str],
) -> None:
    """Insert chunks, with vectors as text (embedding.as_text). Inside namespace()."""
    rows = chunk_rows(version, profile, extracted, passages, vectors)
    keys = (version.namespace_id, profile.pk, document.pk, version.pk)
    for start in range(0, len(rows), INSERT_BATCH):
        batch = rows[start : start + INSERT_BATCH]
        with connection.cursor() as cursor:
            cursor.execute(INSERT, [*keys, *map(list, zip(*batch, strict=True))])
        terms.store(
            [
                terms.words_of(row[0], document.title, passage)
                for row, passage in zip(batch, passages[start:], strict=False)
            ],
            namespace_id=version.namespace_id,
            profile=profile,
            document_id=document.pk,
            language=document.language,
        )


def chunk_rows(
    version: DocumentVersion,
    profile: IndexProfile,
    extracted: Extracted,
    passages: Sequence[Passage],
    vectors: Sequence[str],
) -> list[tuple[Any, ...]]:
    """Return the columns from id to embedding, as in INSERT."""
    return [
        _row(version, profile, extracted.pages, ordinal, passage, vector)
        for ordinal, (passage, vector) in enumerate(zip(passages, vectors, strict=True))
    ]


def _row(
    version: DocumentVersion,
    profile: IndexProfile,
    pages: Sequence[Page],
    ordinal: int,
    passage: Passage,
    vector: str,
) -> tuple[Any, ...]:
    return (
        # Derived, so that indexing the same version again gives the same ids.
        uuid.uuid5(version.pk, f"{profile.pk}/{ordinal}"),
        ordinal,
        passage.kind,
        passage.text,
        passage.tokens,
        passage.section,
        passage.start,
        passage.end,
        page_at(pages, passage.start),
        page_at(pages, passage.end - 1),
        json.dumps(_metadata(passage)),
        hashlib.sha256(passage.text.encode()).hexdigest(),
        vector,
    )


def page_at(pages: Sequence[Page], position: int) -> int | None:
    """Return the number of the page at a character position; None without pages."""
    index = bisect_right(pages, position, key=lambda page: page.start) - 1
    return pages[index].number if index >= 0 else None


def _metadata(passage: Passage) -> dict[str, Any]:
    optional = {"language": passage.language, "part": passage.part}
    return {
        **passage.attributes,
        "heading_path": list(passage.heading_path),
        **{name: value for name, value in optional.items() if value},
    }
