"""One order out of two: a weighted sum of normalised scores, or reciprocal rank fusion."""

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from retrieval.requests import Candidate

from .vectors import Vector

NEIGHBOURS = 10
SUPPORT = 0.2  # of a score that is decided by its neighbours'


def rrf(candidates: Iterable[Candidate], *, k: int) -> list[Candidate]:
    """By ranks alone: 1 / (k + rank), summed over the legs that found it."""

    def score(candidate: Candidate) -> float:
        ranks = (candidate.similarity_rank, candidate.lexical_rank)
        return sum(1 / (k + rank) for rank in ranks if rank is not None)

    return _ordered([_Fused(candidate, score(candidate)) for candidate in candidates])


def weighted(
    candidates: Sequence[Candidate], *, semantic: float, lexical: float
) -> list[Candidate]:
    """By scores: each leg's stretched to 0…1 over all candidates, weighted and summed.

    The weights are shares of one, so that fused scores stay within 0…1 whatever they add up to.
    """
    whole = semantic + lexical
    of_vector = _stretched([c.similarity for c in candidates])
    of_lexical = _stretched([c.lexical for c in candidates])
    fused = []
    for candidate in candidates:
        near, wordy = of_vector(candidate.similarity), of_lexical(candidate.lexical)
        score = (semantic * (near or 0.0) + lexical * (wordy or 0.0)) / whole
        fused.append(_Fused(candidate, score, near, wordy))
    return _ordered(fused)


def supported(fused: Sequence[Candidate], vectors: Mapping[uuid.UUID, Vector]) -> list[Candidate]:
    """Each by its own score and, for a fifth, by the mean of the candidates most like it: what
    answers a question lies close together, what only happens to resemble it lies apart."""
    known = [candidate for candidate in fused if candidate.chunk_id in vectors]
    if len(known) <= NEIGHBOURS + 1:  # everybody would be everybody's neighbour
        return list(fused)
    # np.stack would take longer than the product.
    matrix = np.concatenate([vectors[c.chunk_id] for c in known]).reshape(len(known), -1)
    shares = matrix @ matrix.T
    np.fill_diagonal(shares, val=-1.0)
    least = np.partition(shares, -NEIGHBOURS, axis=1)[:, -NEIGHBOURS, np.newaxis]
    is_neighbour = shares >= least
    np.maximum(shares, 1e-6, out=shares)
    shares *= is_neighbour
    scores = np.array([c.fused for c in known], dtype=np.float32)
    means = shares @ scores / shares.sum(axis=1)
    for candidate, mean in zip(known, means.tolist(), strict=True):
        candidate.support = mean
    return _ordered([_Fused(c, _leaning(c), c.similarity_normal, c.lexical_normal) for c in fused])


def _leaning(candidate: Candidate) -> float:
    if candidate.support is None:  # gone since it was found
        return candidate.fused
    return (1 - SUPPORT) * candidate.fused + SUPPORT * candidate.support


class _Fused(NamedTuple):
    candidate: Candidate
    score: float
    similarity_normal: float | None = None
    lexical_normal: float | None = None


def _stretched(scores: Sequence[float | None]) -> Callable[[float | None], float | None]:
    """Min-max; where all are alike, all are best. A leg that did not run says nothing."""
    known = [score for score in scores if score is not None]
    low, high = (min(known), max(known)) if known else (0.0, 0.0)

    def normal(score: float | None) -> float | None:
        if score is None:
            return None
        return 1.0 if high == low else (score - low) / (high - low)

    return normal


def _ordered(fused: list[_Fused]) -> list[Candidate]:
    fused.sort(key=lambda f: (-f.score, f.candidate.chunk_id))  # ties always fall the same way
    for rank, (candidate, score, near, wordy) in enumerate(fused, start=1):
        candidate.fused, candidate.fused_rank = score, rank
        candidate.similarity_normal, candidate.lexical_normal = near, wordy
    return [each.candidate for each in fused]
