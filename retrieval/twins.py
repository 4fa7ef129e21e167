"""Which candidates say the same: by the hash of their words, else by vectors and words together.

Near vectors alone would not do: two invoices that differ in their number and their sum are nearly
one vector, and are not the same to anybody.
"""

import uuid
from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from ragsite.tenancy import current_connection

from .requests import Candidate
from .rows import Row, Vector

NEAR = 0.97  # cosine similarity
SHARED = 0.9  # of all words of both

Pair = frozenset[uuid.UUID]

_WORDS = """
    SELECT chunk_id, tsvector_to_array(ts_filter(search_vector, '{d}'))
    FROM documents_chunkterms WHERE chunk_id = ANY (%(ids)s::uuid[])
"""


def find_twins(
    candidates: Sequence[Candidate],
    rows: Mapping[uuid.UUID, Row],
    vectors: Mapping[uuid.UUID, Vector],
) -> frozenset[Pair]:
    """Pairs of which one is enough. Inside namespace(); a statement only if vectors are near."""
    ids = [candidate.chunk_id for candidate in candidates if candidate.chunk_id in vectors]
    if len(ids) < 2:
        return frozenset()
    matrix = np.stack([vectors[chunk_id] for chunk_id in ids])
    # Not "@": for so little, BLAS would wake threads that then wait for each other.
    likeness = np.einsum("ij,kj->ik", matrix, matrix)
    near = np.argwhere(np.triu(likeness >= NEAR, k=1))
    near_pairs = [
        frozenset({ids[first], ids[second]})
        for first, second in near.tolist()
        if rows[ids[first]].kind == rows[ids[second]].kind
    ]
    return frozenset(_same_words(ids, rows) | _sharing_words(near_pairs))


def _same_words(ids: Sequence[uuid.UUID], rows: Mapping[uuid.UUID, Row]) -> set[Pair]:
    """Whatever their vectors: under other titles the same text embeds differently."""
    by_hash: dict[int, list[uuid.UUID]] = {}
    for chunk_id in ids:
        by_hash.setdefault(rows[chunk_id].words_hash, []).append(chunk_id)
    return {frozenset(pair) for alike in by_hash.values() for pair in combinations(alike, 2)}


def _sharing_words(pairs: Sequence[Pair]) -> set[Pair]:
    if not pairs:
        return set()
    with current_connection().cursor() as cursor:
        cursor.execute(_WORDS, {"ids": list(frozenset().union(*pairs))})
        words = {chunk_id: frozenset(lexemes) for chunk_id, lexemes in cursor.fetchall()}
    sharing = set()
    for pair in pairs:
        one, other = (words.get(chunk_id, frozenset()) for chunk_id in pair)
        if len(one & other) >= SHARED * len(one | other):
            sharing.add(pair)
    return sharing
