"""Read the text of the chosen chunks and its position in the document."""

import hashlib
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models.functions import Length

from documents.models import Chunk, DocumentVersion
from ragsite.database.tenancy import query_prepared
from retrieval.ranking.diversity import Pick
from retrieval.requests import Hit
from retrieval.stored_chunk import StoredChunk
from retrieval.turns import merged

MAX_SECTION_LENGTH = 6000  # characters; a longer section would fill the context alone

_CUT = """
    SELECT pick.id, substr(version.text, pick.first + 1, pick.last - pick.first)
    FROM unnest(%(ids)s::uuid[], %(versions)s::uuid[], %(starts)s::int[], %(ends)s::int[])
         AS pick (id, version, first, last)
    JOIN documents_documentversion version ON version.id = pick.version
"""


def read(picks: Sequence[Pick], rows: Mapping[uuid.UUID, StoredChunk]) -> list[Hit]:
    """Return hits. A single chunk has its own text; a merged or expanded passage is cut from the
    version's text, in one statement for all. Inside namespace()."""
    cut = _cut([pick for pick in picks if not _is_whole(pick, rows)], rows)
    return [_hit(pick, rows, cut) for pick in picks]


def _is_whole(pick: Pick, rows: Mapping[uuid.UUID, StoredChunk]) -> bool:
    row = rows[pick.candidate.chunk_id]
    return (pick.start, pick.end) == (row.start, row.end)


def _cut(picks: Sequence[Pick], rows: Mapping[uuid.UUID, StoredChunk]) -> dict[uuid.UUID, str]:
    if not picks:
        return {}
    ids = [pick.candidate.chunk_id for pick in picks]
    wanted = {
        "ids": ids,
        "versions": [rows[chunk_id].version_id for chunk_id in ids],
        "starts": [pick.start for pick in picks],
        "ends": [pick.end for pick in picks],
    }
    return dict(query_prepared(_CUT, wanted))


def contents(chunk_ids: Sequence[uuid.UUID]) -> Mapping[uuid.UUID, str]:
    """Return the texts of these chunks, by id. Inside namespace()."""
    return dict(Chunk.objects.filter(pk__in=chunk_ids).values_list("pk", "content"))


def widen(picks: Sequence[Pick], rows: Mapping[uuid.UUID, StoredChunk]) -> None:
    """Expand each pick to the section around it, unless that is too long. Inside namespace()."""
    versions = {rows[pick.candidate.chunk_id].version_id for pick in picks}
    outlines = {
        pk: (outline.get("headings", []), length)
        for pk, outline, length in DocumentVersion.objects.filter(pk__in=versions).values_list(
            "pk", "outline", Length("text")
        )
    }
    for pick in picks:
        headings, length = outlines.get(rows[pick.candidate.chunk_id].version_id, ([], pick.end))
        start, end = _section(headings, pick.start, pick.end, length)
        if end - start <= MAX_SECTION_LENGTH:
            pick.start, pick.end = start, end


def _section(
    headings: Sequence[dict[str, Any]], start: int, end: int, length: int
) -> tuple[int, int]:
    """Return the span from the last heading before the passage to the next of the same or a higher
    level."""
    before = [heading for heading in headings if heading["start"] <= start]
    if not before:
        return start, end
    own = before[-1]
    after = [
        heading["start"]
        for heading in headings
        if heading["start"] > start and heading["level"] <= own["level"]
    ]
    return own["start"], max(end, after[0] if after else length)


def _header(pick: Pick, rows: Mapping[uuid.UUID, StoredChunk]) -> str:
    """Return the table header of the rows that the passage begins with."""
    first = min((rows[chunk_id] for chunk_id in pick.chunk_ids), key=lambda row: row.start)
    return first.table_header if first.start == pick.start else ""


def _last_page(pick: Pick, rows: Mapping[uuid.UUID, StoredChunk]) -> int | None:
    return max(
        (page for chunk_id in pick.chunk_ids if (page := rows[chunk_id].page_end)), default=None
    )


def _metadata(pick: Pick, rows: Mapping[uuid.UUID, StoredChunk]) -> dict[str, Any]:
    """Return the chunk's metadata; of a conversation, with the turns of the whole passage."""
    own = rows[pick.candidate.chunk_id].own_metadata
    if pick.turns:
        own["turns"] = list(pick.turns)
    elif "turns" in own:
        passages = [rows[chunk_id].own_metadata["turns"] for chunk_id in pick.chunk_ids]
        own["turns"] = merged(passages)
    return own


def _hit(pick: Pick, rows: Mapping[uuid.UUID, StoredChunk], cut: Mapping[uuid.UUID, str]) -> Hit:
    row = rows[pick.candidate.chunk_id]
    content = cut.get(pick.candidate.chunk_id, row.content)
    tokens, uncounted = _counted(pick, rows, content)
    return Hit(
        candidate=pick.candidate,
        document_version=row.document_version,
        title=row.title,
        source_uri=row.source_uri,
        section=row.section,
        page=row.page,
        start=pick.start,
        end=pick.end,
        kind=row.kind,
        content=content,
        checksum=hashlib.sha256(content.encode()).hexdigest(),
        metadata=row.metadata,
        chunk_metadata=_metadata(pick, rows),
        tags=tuple(row.tags),
        collections=tuple(row.collections),
        language=row.language,
        ordinal=row.ordinal,
        media_type=row.media_type,
        created_at=row.created_at,
        dated_at=row.dated_at,
        page_end=_last_page(pick, rows),
        tokens=tokens,
        table_header=_header(pick, rows),
        uncounted=uncounted,
        merged=tuple(pick.merged),
    )


def _counted(pick: Pick, rows: Mapping[uuid.UUID, StoredChunk], content: str) -> tuple[int, str]:
    """Return the tokens that ingestion counted, and the text around and between their chunks.

    A chunk that overlaps the one before is not counted as a whole: what is new in it is such text.
    """
    tokens, parts, end = 0, [], pick.start
    for row in sorted((rows[chunk_id] for chunk_id in pick.chunk_ids), key=lambda row: row.start):
        if row.start < end:
            continue
        parts.append(content[end - pick.start : row.start - pick.start])
        tokens += row.tokens
        end = row.end
    parts.append(content[end - pick.start :])
    return tokens, " ".join(filter(None, map(str.strip, parts)))
