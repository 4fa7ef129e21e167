"""The chunks nearest to a chunk, by its profile's vector index, and which of them are
duplicates."""

import uuid
from dataclasses import dataclass

from django.conf import settings

from documents.models import Chunk
from ragsite.database.tenancy import namespace
from retrieval.candidates import dense
from retrieval.candidates.scope import SearchScope
from retrieval.candidates.scoring import compare
from retrieval.context.chunk_rows import fetch_rows
from retrieval.context.near_duplicates import NearDuplicates
from retrieval.ranking.vectors import vectors_of
from retrieval.requests import Candidate
from retrieval.search_context import read_index
from retrieval.stored_chunk import StoredChunk


@dataclass(frozen=True, slots=True)
class Neighbour:
    chunk_id: uuid.UUID
    document_id: uuid.UUID
    similarity: float  # cosine
    repeats: bool  # a near duplicate: searches show only one of the two
    row: StoredChunk


def nearest(namespace_id: uuid.UUID, chunk_id: uuid.UUID, *, limit: int = 10) -> list[Neighbour]:
    """Return the nearest chunks under the chunk's own profile, nearest first. Raises
    Chunk.DoesNotExist."""
    index = read_index(namespace_id)
    with namespace(namespace_id):
        chunk = Chunk.objects.select_related("profile").get(pk=chunk_id)
        chunks = index.chunk_count
        if chunk.profile_id != index.profile.pk:
            chunks = settings.SEARCH["exact_scan_rows"] + 1  # unknown: use the index
        found, _ = dense.find(
            list(chunk.embedding),
            namespace_id=namespace_id,
            profile=chunk.profile,
            scope=SearchScope(chunks=chunks),
            limit=limit + 1,
            exact_up_to=settings.SEARCH["exact_scan_rows"],
            ef_search=settings.SEARCH["ef_search"],
        )
        candidates = {each.chunk_id: each for each in found}
        own = candidates.setdefault(chunk_id, Candidate(chunk_id, chunk.document_id))
        compare([own], None)
        rows = fetch_rows(list(candidates))
        everyone = [each for each in candidates.values() if each.chunk_id in rows]
        duplicates = NearDuplicates(everyone, rows, vectors_of(everyone))
        return [
            Neighbour(
                each.chunk_id,
                each.document_id,
                each.similarity or 0.0,
                chunk_id in rows and duplicates.any_among(chunk_id, {each.chunk_id}),
                rows[each.chunk_id],
            )
            for each in everyone
            if each.chunk_id != chunk_id
        ][:limit]
