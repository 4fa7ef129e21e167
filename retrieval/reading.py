"""From picks to hits: what the chosen chunks say, and where it stands."""

import hashlib
import json
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models.functions import Length

from documents.models import Chunk, DocumentVersion
from ragsite.tenancy import current_connection

from .diversity import Pick
from .requests import Hit
from .scoring import Place

LONGEST_SECTION = 6000  # characters; a longer one would push everything else out of the context

# What was merged or widened is cut out of the version's text; a plain chunk brings its own.
_READ = """
    SELECT chunk.id, version.number, document.title, document.source_uri, chunk.section,
           chunk.page_start, chunk.kind, document.metadata, chunk.metadata, document.tags,
           document.language,
           CASE WHEN (pick.first, pick.last) = (chunk.start, chunk."end") THEN chunk.tokens END,
           CASE WHEN (pick.first, pick.last) = (chunk.start, chunk."end") THEN chunk.content
                ELSE substr(version.text, pick.first + 1, pick.last - pick.first) END
    FROM unnest(%(ids)s::uuid[], %(starts)s::int[], %(ends)s::int[]) AS pick (id, first, last)
    JOIN documents_chunk chunk ON chunk.id = pick.id
    JOIN documents_document document ON document.id = chunk.document_id
    JOIN documents_documentversion version ON version.id = chunk.version_id
"""


def read(picks: Sequence[Pick]) -> list[Hit]:
    """In one statement, under row-level security. Inside namespace()."""
    if not picks:
        return []
    with current_connection().cursor() as cursor:
        cursor.execute(
            _READ,
            {
                "ids": [pick.candidate.chunk_id for pick in picks],
                "starts": [pick.start for pick in picks],
                "ends": [pick.end for pick in picks],
            },
        )
        rows = {row[0]: row[1:] for row in cursor.fetchall()}
    return [
        _hit(pick, rows[pick.candidate.chunk_id])
        for pick in picks
        if pick.candidate.chunk_id in rows
    ]


def contents(chunk_ids: Sequence[uuid.UUID]) -> Mapping[uuid.UUID, str]:
    """Inside namespace()."""
    return dict(Chunk.objects.filter(pk__in=chunk_ids).values_list("pk", "content"))


def widen(picks: Sequence[Pick], places: Mapping[uuid.UUID, Place]) -> None:
    """Let each pick be the section around it, if that is not too long. Inside namespace()."""
    versions = {places[pick.candidate.chunk_id].version_id for pick in picks}
    outlines = {
        pk: (outline.get("headings", []), length)
        for pk, outline, length in DocumentVersion.objects.filter(pk__in=versions).values_list(
            "pk", "outline", Length("text")
        )
    }
    for pick in picks:
        headings, length = outlines.get(places[pick.candidate.chunk_id].version_id, ([], pick.end))
        start, end = _section(headings, pick.start, pick.end, length)
        if end - start <= LONGEST_SECTION:
            pick.start, pick.end = start, end


def _section(
    headings: Sequence[dict[str, Any]], start: int, end: int, length: int
) -> tuple[int, int]:
    """From the last heading before the passage to the next that is not below it."""
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


def _hit(pick: Pick, row: tuple[Any, ...]) -> Hit:
    (
        number,
        title,
        source_uri,
        section,
        page,
        kind,
        document_metadata,
        chunk_metadata,
        tags,
        language,
        tokens,
        content,
    ) = row
    return Hit(
        candidate=pick.candidate,
        document_version=number,
        title=title,
        source_uri=source_uri,
        section=section,
        page=page,
        start=pick.start,
        end=pick.end,
        kind=kind,
        content=content,
        checksum=hashlib.sha256(content.encode()).hexdigest(),
        metadata={**json.loads(document_metadata), **json.loads(chunk_metadata)},
        tags=tuple(tags),
        language=language,
        tokens=tokens,
        merged=tuple(pick.merged),
    )
