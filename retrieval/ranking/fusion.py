"""Merge two rankings: a weighted sum of normalised scores, or reciprocal rank fusion."""

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from retrieval.requests import Candidate, SearchRequest

from .vectors import Vector

NEIGHBOURS = 10
SUPPORT = 0.2  # fraction of a score that comes from its neighbours


def fuse(
    candidates: Sequence[Candidate],
    vectors: Mapping[uuid.UUID, Vector],
    request: SearchRequest,
    *,
    has_similarities: bool,
) -> list[Candidate]:
    """Return candidates, best first, by the requested method. A leg that did not run has no
    weight."""
    if request.fusion == "rrf":
        return rrf(candidates, k=request.rrf_k)
    semantic, lexical = request.semantic_weight, request.lexical_weight
    if request.mode == "lexical" or not has_similarities:
        semantic, lexical = 0.0, 1.0
    elif request.mode == "semantic":
        semantic, lexical = 1.0, 0.0
    fused = weighted(candidates, semantic=semantic, lexical=lexical)
    if not semantic or not lexical:
        return fused  # the order of a single leg was requested
    if request.filters.only_conversations:
        return fused  # neighbours are windows of the same turns, and say nothing new
    return supported(fused, vectors)


def rrf(candidates: Iterable[Candidate], *, k: int) -> list[Candidate]:
    """Score by ranks alone: the sum of 1 / (k + rank) over the legs that found it."""

    def score(candidate: Candidate) -> float:
        ranks = (candidate.similarity_rank, candidate.lexical_rank)
        return sum(1 / (k + rank) for rank in ranks if rank is not None)

    return _ordered([_ScoredCandidate(candidate, score(candidate)) for candidate in candidates])


def weighted(
    candidates: Sequence[Candidate], *, semantic: float, lexical: float
) -> list[Candidate]:
    """Score by a weighted sum of each leg's scores, scaled to 0…1 over all candidates.

    The weights are normalised, so that fused scores stay within 0…1.
    """
    total = semantic + lexical
    of_similarity = _min_max([c.similarity for c in candidates])
    of_lexical = _min_max([c.lexical for c in candidates])
    fused = []
    for candidate in candidates:
        similarity = of_similarity(candidate.similarity)
        lexical_score = of_lexical(candidate.lexical)
        score = (semantic * (similarity or 0.0) + lexical * (lexical_score or 0.0)) / total
        fused.append(_ScoredCandidate(candidate, score, similarity, lexical_score))
    return _ordered(fused)


def supported(fused: Sequence[Candidate], vectors: Mapping[uuid.UUID, Vector]) -> list[Candidate]:
    """Score by each candidate's own score and, for a fifth, the mean score of those most like it:
    passages that answer a question are close together, chance matches are not."""
    known = [candidate for candidate in fused if candidate.chunk_id in vectors]
    if len(known) <= NEIGHBOURS + 1:  # everything would be a neighbour of everything
        return list(fused)
    # np.stack takes longer than the product.
    matrix = np.concatenate([vectors[c.chunk_id] for c in known]).reshape(len(known), -1)
    shares = matrix @ matrix.T
    np.fill_diagonal(shares, val=-1.0)
    threshold = np.partition(shares, -NEIGHBOURS, axis=1)[:, -NEIGHBOURS, np.newaxis]
    is_neighbour = shares >= threshold
    np.maximum(shares, 1e-6, out=shares)
    shares *= is_neighbour
    scores = np.array([c.fused for c in known], dtype=np.float32)
    means = shares @ scores / shares.sum(axis=1)
    for candidate, mean in zip(known, means.tolist(), strict=True):
        candidate.support = mean
    return _ordered(
        [
            _ScoredCandidate(c, _with_support(c), c.similarity_normal, c.lexical_normal)
            for c in fused
        ]
    )


def _with_support(candidate: Candidate) -> float:
    if candidate.support is None:  # no vector: deleted since it was found
        return candidate.fused
    return (1 - SUPPORT) * candidate.fused + SUPPORT * candidate.support


class _ScoredCandidate(NamedTuple):
    candidate: Candidate
    score: float
    similarity_normal: float | None = None
    lexical_normal: float | None = None


def _min_max(scores: Sequence[float | None]) -> Callable[[float | None], float | None]:
    """Scale to 0…1, or to 1 if all are equal. None stays None: that leg did not run."""
    known = [score for score in scores if score is not None]
    low, high = (min(known), max(known)) if known else (0.0, 0.0)

    def normal(score: float | None) -> float | None:
        if score is None:
            return None
        return 1.0 if high == low else (score - low) / (high - low)

    return normal


def _ordered(fused: list[_ScoredCandidate]) -> list[Candidate]:
    fused.sort(key=lambda f: (-f.score, f.candidate.chunk_id))  # deterministic order of ties
    for rank, (candidate, score, similarity, lexical_score) in enumerate(fused, start=1):
        candidate.fused, candidate.fused_rank = score, rank
        candidate.similarity_normal, candidate.lexical_normal = similarity, lexical_score
    return [each.candidate for each in fused]
