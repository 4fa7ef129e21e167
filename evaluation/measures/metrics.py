"""Compute measures with ir-measures, and intervals and tests with scipy. Plain Python.

These libraries are imported inside functions, so that web processes do not load them at start.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# Our name → that of ir-measures. nDCG has linear gains; a grade of 1 is relevant; map and mrr
# without "@" use the whole ranking.
NAMES = {
    "ndcg": "nDCG",
    "mrr": "RR",
    "recall": "R",
    "precision": "P",
    "map": "AP",
    "hit": "Success",
}
WITHOUT_CUTOFF = {"ndcg", "mrr", "map"}
DEFAULT = (  # measures of a ranking
    "ndcg@10",
    "mrr@10",
    "recall@10",
    "recall@50",
    "recall@100",
    "precision@5",
    "precision@10",
    "map",
    "hit@1",
    "hit@10",
)
# A measure of the context: whether it contains the judged text (see answers.py).
ANSWER = "answer@context"
# A measure of the results a client gets: whether one of the first three is any passage of an
# expected document.
FIRST_RESULTS = 3
DOCUMENT = f"document@{FIRST_RESULTS}"
REPORTED = (DEFAULT[0], ANSWER, DOCUMENT, *DEFAULT[1:])
# Measures of written answers (see answering.py): fractions, where more is better, and amounts.
OF_ANSWERS = (
    "answered@answerable",
    "abstained@unanswerable",
    "answer@text",
    "answer@cited",
    "quotes_exact",
    "citations_equal",
    "citation_recall",
    "citation_precision",
    "support",
    "grounded",
)
AMOUNTS_OF_ANSWERS = (
    "answer_citations",
    "answer_unknown_ids",
    "answer_malformed_markers",
    "answer_prompt_tokens",
    "answer_completion_tokens",
    "answer_cost",
    "answer_failures",
)
CURVE = (1, 2, 3, 5, 10, 20, 30, 50, 75, 100)  # values of k in the recall curve

RESAMPLES = 5000
PERMUTATIONS = 9999
SEED = 7
_NAME = re.compile(r"([a-z]+)(?:@([1-9][0-9]{0,3}))?")

Scores = Mapping[str, Mapping[str, float]]  # query → measure → value


class UnknownMeasure(ValueError):
    """An unknown measure; the message lists the known ones."""


def checked(name: str) -> str:
    """Return the canonical name of a measure: "nDCG@10" → "ndcg@10"."""
    if (plain := name.strip().lower()) in (ANSWER, DOCUMENT, *OF_ANSWERS):
        return plain
    match = _NAME.fullmatch(name.strip().lower())
    if match is None or match[1] not in NAMES or not (match[2] or match[1] in WITHOUT_CUTOFF):
        known = ", ".join(n if n in WITHOUT_CUTOFF else f"{n}@K" for n in NAMES)
        raise UnknownMeasure(
            f"There is no measure {name!r}. There are: {known}; each with @K; {ANSWER}; "
            f"{DOCUMENT}; and of answers {', '.join(OF_ANSWERS)}."
        )
    return match[0]


def measure(
    qrels: Mapping[str, Mapping[str, int]],
    run: Mapping[str, Mapping[str, float]],
    names: Sequence[str] = DEFAULT,
) -> dict[str, dict[str, float]]:
    """Return each measure for each query with a relevant answer; 0 if nothing was found."""
    import ir_measures

    judged = {
        query: dict(answers)
        for query, answers in qrels.items()
        if any(grade > 0 for grade in answers.values())
    }
    scores = {query: dict.fromkeys(names, 0.0) for query in judged}
    asked = {_measure_of(name): name for name in names}
    answered = {query: dict(found) for query, found in run.items() if query in judged}
    for metric in ir_measures.iter_calc(list(asked), judged, answered) if judged else ():
        scores[metric.query_id][asked[metric.measure]] = float(metric.value)
    return scores


def _measure_of(name: str) -> Any:
    import ir_measures

    match = _NAME.fullmatch(name)
    if match is None:
        raise UnknownMeasure(name)
    cutoff = f"@{match[2]}" if match[2] else ""
    return ir_measures.parse_measure(f"{NAMES[match[1]]}{cutoff}")


@dataclass(frozen=True, slots=True)
class MeanEstimate:
    """Return the mean and its 95 % bootstrap interval."""

    mean: float
    low: float
    high: float


def estimate(values: Sequence[float]) -> MeanEstimate:
    import numpy as np

    if not values:
        return MeanEstimate(0.0, 0.0, 0.0)
    sample = np.asarray(values, dtype=float)
    mean = float(sample.mean())
    if len(sample) < 2 or np.ptp(sample) == 0:
        return MeanEstimate(mean, mean, mean)
    from scipy import stats

    drawn = stats.bootstrap(
        (sample,), np.mean, n_resamples=RESAMPLES, method="percentile", rng=SEED, batch=500
    )
    interval = drawn.confidence_interval
    return MeanEstimate(mean, float(interval.low), float(interval.high))


@dataclass(frozen=True, slots=True)
class Difference:
    """Compare two runs over the same queries: the mean gain, its interval, and the p-value of a
    two-sided paired randomisation test."""

    gain: float
    low: float
    high: float
    p_value: float


def difference(before: Sequence[float], after: Sequence[float]) -> Difference:
    """Return `after` minus `before` for each query."""
    gains = [new - old for old, new in zip(before, after, strict=True)]
    gained = estimate(gains)
    if not any(gains):
        return Difference(0.0, 0.0, 0.0, 1.0)
    import numpy as np
    from scipy import stats

    # Under the null hypothesis, each difference may equally have the opposite sign.
    test = stats.permutation_test(
        (np.asarray(gains),),
        np.mean,
        permutation_type="samples",
        n_resamples=PERMUTATIONS,
        rng=SEED,
        vectorized=True,
        batch=1000,
    )
    return Difference(gained.mean, gained.low, gained.high, float(test.pvalue))


def percentiles(values: Sequence[float]) -> dict[str, float]:
    import numpy as np

    if not values:
        return {}
    p50, p95, p99 = np.percentile(values, [50, 95, 99])
    return {
        "p50": round(float(p50), 2),
        "p95": round(float(p95), 2),
        "p99": round(float(p99), 2),
        "mean": round(float(np.mean(values)), 2),
    }
