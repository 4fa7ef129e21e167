"""Pairwise logistic regression by Newton's method, without a database.

Each pair states that one passage answers a question better than another. As in LambdaRank, its
weight is the change of nDCG's discount if the two were swapped, so that an error near the top
matters more. The penalty pulls the weights towards the fused order, so that little data changes
little.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from retrieval.rerankers.linear import FEATURES, LinearModel

_Matrix = NDArray[np.float64]

STEPS = 50
TOLERANCE = 1e-9
MIN_SCALE = 1e-6  # a feature that never varies carries no information


@dataclass(frozen=True, slots=True)
class PairedRows:
    """One question: a row of features for each passage, in fused order, and pairs (better, worse)
    of rows."""

    rows: Sequence[Sequence[float]]
    pairs: Sequence[tuple[int, int]]


def fit(groups: Sequence[PairedRows], *, penalty: float) -> LinearModel:
    """Fit the weights. Every question counts the same, however many pairs it has. Raises ValueError
    without pairs."""
    used = [group for group in groups if group.pairs]
    if not used:
        raise ValueError("No question has two passages of which one is better.")
    table = np.concatenate([np.asarray(group.rows, dtype=float) for group in used])
    means, scales = table.mean(axis=0), table.std(axis=0)
    varies = scales > MIN_SCALE
    scales = np.where(varies, scales, 1.0)
    gaps = np.concatenate([_gaps(group, scales) for group in used]) * varies
    shares = np.concatenate([_shares(group) for group in used]) / len(used)
    weights = _minimum(gaps, shares, penalty)
    return LinearModel(tuple(weights.tolist()), tuple(means.tolist()), tuple(scales.tolist()))


def _gaps(group: PairedRows, scales: _Matrix) -> _Matrix:
    rows = np.asarray(group.rows, dtype=float)
    better, worse = np.asarray(group.pairs).T
    gaps: _Matrix = (rows[better] - rows[worse]) / scales
    return gaps


def _shares(group: PairedRows) -> _Matrix:
    """Return the weight of each pair; their sum is 1."""
    places = np.asarray(group.pairs, dtype=float).T
    better, worse = 1 / np.log2(places + 2)
    changes: _Matrix = np.abs(better - worse)
    return changes / changes.sum()


def fused_order() -> _Matrix:
    """Return the weights that keep the fused order."""
    weights = np.zeros(len(FEATURES))
    weights[FEATURES.index("fused")] = 1.0
    return weights


def _minimum(gaps: _Matrix, shares: _Matrix, penalty: float) -> _Matrix:
    prior = fused_order()
    weights = prior.copy()
    loss = _loss(weights, gaps, shares, penalty, prior)
    for _ in range(STEPS):
        wrong = 1 / (1 + np.exp(np.clip(gaps @ weights, -500, 500)))
        slope = penalty * (weights - prior) - gaps.T @ (shares * wrong)
        curve = (gaps * (shares * wrong * (1 - wrong))[:, np.newaxis]).T @ gaps
        step = np.linalg.solve(curve + penalty * np.eye(len(prior)), slope)
        size = 1.0
        while size > TOLERANCE:
            lower = _loss(weights - size * step, gaps, shares, penalty, prior)
            if lower <= loss:
                break
            size /= 2
        else:
            return weights
        weights, gained, loss = weights - size * step, loss - lower, lower
        if gained < TOLERANCE:
            break
    return weights


def _loss(
    weights: _Matrix, gaps: _Matrix, shares: _Matrix, penalty: float, prior: _Matrix
) -> float:
    fits = float(shares @ np.logaddexp(0.0, -(gaps @ weights)))
    return fits + penalty / 2 * float(np.sum((weights - prior) ** 2))
