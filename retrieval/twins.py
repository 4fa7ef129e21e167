"""Which candidates say the same: by the hash of their words, else by vectors and words together.

Near vectors alone would not do: two invoices that differ in their number and their sum are nearly
one vector, and are not the same to anybody.
"""

import uuid
from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from ragsite.tenancy import id_array, looked_up

from .requests import Candidate
from .rows import Row, Vector

NEAR = 0.97  # cosine similarity
SHARED = 0.9  # of all words of both

Pair = frozenset[uuid.UUID]

_WORDS = """
    SELECT chunk_id, tsvector_to_array(ts_filter(search_vector, '{d}'))
    FROM documents_chunkterms WHERE chunk_id = ANY (%(ids)s::uuid[])
"""


class Twins:
    """Knows of any two of the candidates whether one is enough: `{one, other} in twins`.

    Inside namespace(): the first pair with near vectors costs a statement, and no other does.
    """

    def __init__(
        self,
        candidates: Sequence[Candidate],
        rows: Mapping[uuid.UUID, Row],
        vectors: Mapping[uuid.UUID, Vector],
    ) -> None:
        self._rows = rows
        ids = [candidate.chunk_id for candidate in candidates if candidate.chunk_id in vectors]
        self._places = {chunk_id: place for place, chunk_id in enumerate(ids)}
        matrix = np.stack([vectors[chunk_id] for chunk_id in ids]) if ids else np.empty((0, 1))
        # Not "@": for so little, BLAS would wake threads that then wait for each other.
        self._is_near = np.einsum("ij,kj->ik", matrix, matrix) >= NEAR

    def __contains__(self, pair: object) -> bool:
        if not isinstance(pair, frozenset) or not pair <= self._places.keys():
            return False
        one, other = pair
        mine, theirs = self._rows[one], self._rows[other]
        if mine.words_hash == theirs.words_hash:  # under other titles the same embeds differently
            return True
        if mine.kind != theirs.kind or not self._is_near[self._places[one], self._places[other]]:
            return False
        some, more = (self._words.get(chunk_id, frozenset()) for chunk_id in pair)
        return len(some & more) >= SHARED * len(some | more)

    @cached_property
    def _words(self) -> dict[uuid.UUID, frozenset[str]]:
        """Of all that have somebody near."""
        has_company = self._is_near.sum(axis=1) > 1  # everybody is near itself
        ids = [chunk_id for chunk_id, place in self._places.items() if has_company[place]]
        found = looked_up(_WORDS, {"ids": id_array(ids)})
        return {chunk_id: frozenset(lexemes) for chunk_id, lexemes in found}
