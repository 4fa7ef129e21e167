"""One order out of two: reciprocal rank fusion, or a weighted sum of normalised scores."""

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import replace

from .requests import Candidate

RRF_K = 60


def union(dense: Iterable[Candidate], lexical: Iterable[Candidate]) -> list[Candidate]:
    """Every candidate of either leg once, by its id, with what both legs thought of it."""
    merged: dict[uuid.UUID, Candidate] = {hit.chunk_id: hit for hit in dense}
    for hit in lexical:
        other = merged.get(hit.chunk_id)
        merged[hit.chunk_id] = (
            replace(other, lexical=hit.lexical, lexical_rank=hit.lexical_rank) if other else hit
        )
    return list(merged.values())


def rrf(candidates: Iterable[Candidate], *, k: int = RRF_K) -> list[Candidate]:
    """By ranks alone: 1 / (k + rank), summed over the legs that found it."""

    def score(candidate: Candidate) -> float:
        ranks = (candidate.vector_rank, candidate.lexical_rank)
        return sum(1 / (k + rank) for rank in ranks if rank is not None)

    return _ordered([replace(c, fused=score(c)) for c in candidates])


def weighted(
    candidates: Sequence[Candidate], *, semantic: float, lexical: float
) -> list[Candidate]:
    """By scores: each leg's stretched to 0…1, weighted and summed; not found counts 0."""
    of_vector = _normaliser([c.vector for c in candidates if c.vector is not None])
    of_lexical = _normaliser([c.lexical for c in candidates if c.lexical is not None])
    return _ordered(
        [
            replace(c, fused=semantic * of_vector(c.vector) + lexical * of_lexical(c.lexical))
            for c in candidates
        ]
    )


class _normaliser:
    """Min-max; where all are alike, all are best."""

    def __init__(self, scores: Sequence[float]) -> None:
        self.low, self.high = (min(scores), max(scores)) if scores else (0.0, 0.0)

    def __call__(self, score: float | None) -> float:
        if score is None:
            return 0.0
        if self.high == self.low:
            return 1.0
        return (score - self.low) / (self.high - self.low)


def _ordered(candidates: list[Candidate]) -> list[Candidate]:
    candidates.sort(key=lambda c: (-c.fused, c.chunk_id))  # ties always fall the same way
    return [replace(c, fused_rank=rank) for rank, c in enumerate(candidates, start=1)]
