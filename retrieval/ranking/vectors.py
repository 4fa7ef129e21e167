"""The candidates' vectors as NumPy arrays."""

import uuid
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from retrieval.requests import Candidate

Vector = NDArray[np.float32]


def vectors_of(candidates: Sequence[Candidate]) -> dict[uuid.UUID, Vector]:
    """Return unit vectors. All are of one profile, and so have the same number of dimensions."""
    known = [candidate for candidate in candidates if candidate.packed]
    if not known:
        return {}
    # pgvector's wire format: two bytes of dimensions, two unused, then half-precision numbers.
    numbers = b"".join([candidate.packed[4:] for candidate in known])
    matrix = np.frombuffer(numbers, dtype=">f2").reshape(len(known), -1).astype(np.float32)
    lengths = np.sqrt(np.einsum("ij,ij->i", matrix, matrix))[:, np.newaxis]
    matrix /= np.where(lengths, lengths, 1)
    return dict(zip([c.chunk_id for c in known], matrix, strict=True))
