"""Find candidates with the same content: by the hash of their words, or by vectors and words.

Vectors alone are not enough: two invoices that differ only in number and amount have nearly the
same vector, and are not duplicates.
"""

import uuid
from collections.abc import Container, Mapping, Sequence
from functools import cached_property

import numpy as np

from ragsite.database.tenancy import id_array, query_prepared
from retrieval.ranking.vectors import Vector
from retrieval.requests import Candidate
from retrieval.stored_chunk import StoredChunk

NEAR = 0.97  # cosine similarity
SHARED = 0.9  # fraction of the words of both

_WORDS = """
    SELECT chunk_id, tsvector_to_array(ts_filter(search_vector, '{d}'))
    FROM documents_chunkterms WHERE chunk_id = ANY (%(ids)s::uuid[])
"""


class NearDuplicates:
    """Finds candidates with the same content.

    Inside namespace(): runs one statement if any two candidates have near vectors, otherwise none.
    """

    def __init__(
        self,
        candidates: Sequence[Candidate],
        rows: Mapping[uuid.UUID, StoredChunk],
        vectors: Mapping[uuid.UUID, Vector],
    ) -> None:
        ids = [candidate.chunk_id for candidate in candidates if candidate.chunk_id in rows]
        self._rows = rows
        self._near = _near([chunk_id for chunk_id in ids if chunk_id in vectors], vectors)
        self._same: dict[int, list[uuid.UUID]] = {}
        for chunk_id in ids:  # equal words have different vectors under other titles
            self._same.setdefault(rows[chunk_id].words_hash, []).append(chunk_id)

    def any_among(self, chunk_id: uuid.UUID, among: Container[uuid.UUID]) -> bool:
        """Whether this chunk is a near duplicate of any other one in `among`."""
        mine = self._rows[chunk_id]
        if any(other in among for other in self._same[mine.words_hash]):
            return True
        return any(
            other in among
            and self._rows[other].kind == mine.kind
            and self._share_words(chunk_id, other)
            for other in self._near.get(chunk_id, ())
        )

    def _share_words(self, one: uuid.UUID, other: uuid.UUID) -> bool:
        some, more = (self._words.get(chunk_id, frozenset()) for chunk_id in (one, other))
        return len(some & more) >= SHARED * len(some | more)

    @cached_property
    def _words(self) -> dict[uuid.UUID, frozenset[str]]:
        """Return the words of every chunk that has a near neighbour."""
        found = query_prepared(_WORDS, {"ids": id_array(self._near)})
        return {chunk_id: frozenset(lexemes) for chunk_id, lexemes in found}


def _near(
    ids: Sequence[uuid.UUID], vectors: Mapping[uuid.UUID, Vector]
) -> dict[uuid.UUID, list[uuid.UUID]]:
    """Return the near neighbours of each chunk that has any."""
    if not ids:
        return {}
    matrix = np.stack([vectors[chunk_id] for chunk_id in ids])
    is_near = matrix @ matrix.T >= NEAR
    np.fill_diagonal(is_near, val=False)
    near: dict[uuid.UUID, list[uuid.UUID]] = {}
    for one, other in np.argwhere(is_near).tolist():
        near.setdefault(ids[one], []).append(ids[other])
    return near
