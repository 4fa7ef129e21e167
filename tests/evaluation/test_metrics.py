"""The figures, against a computation of our own from the definitions."""

import math
import random

import pytest

from evaluation.measures import metrics


def by_definition(grades: dict[str, int], ranking: list[str]) -> dict[str, float]:
    """nDCG with linear gains, reciprocal rank, recall, precision, average precision, success."""
    relevant = [d for d, grade in grades.items() if grade > 0]
    hits = [rank for rank, d in enumerate(ranking, start=1) if d in relevant]

    def dcg(gains: list[int]) -> float:
        return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains[:10], start=1))

    ideal = dcg(sorted(grades.values(), reverse=True))
    return {
        "ndcg@10": dcg([grades.get(d, 0) for d in ranking]) / ideal,
        "mrr@10": 1 / hits[0] if hits and hits[0] <= 10 else 0.0,
        "recall@50": sum(rank <= 50 for rank in hits) / len(relevant),
        "precision@5": sum(rank <= 5 for rank in hits) / 5,
        "map": sum(n / rank for n, rank in enumerate(hits, start=1)) / len(relevant),
        "hit@1": float(hits[:1] == [1]),
    }


def test_every_measure_is_what_its_definition_says():
    chance = random.Random(3)
    names = [f"d{n}" for n in range(120)]
    qrels, run = {}, {}
    for query in range(40):
        judged = chance.sample(names, 12)
        qrels[str(query)] = {d: chance.randint(0, 3) for d in judged} | {judged[0]: 1}
        ranking = chance.sample(names, 100)
        run[str(query)] = {d: 100.0 - rank for rank, d in enumerate(ranking)}
    scores = metrics.measure(qrels, run)
    for query, grades in qrels.items():
        ranking = sorted(run[query], key=lambda d: -run[query][d])
        for name, value in by_definition(grades, ranking).items():
            assert scores[query][name] == pytest.approx(value), (query, name)


def test_a_query_that_found_nothing_counts_as_zero_and_one_without_answers_not_at_all():
    scores = metrics.measure({"a": {"x": 1}, "b": {"x": 1}, "c": {"x": 0}}, {"a": {"x": 1.0}})
    assert scores["a"]["ndcg@10"] == 1
    assert scores["b"]["ndcg@10"] == 0
    assert "c" not in scores
    assert metrics.measure({}, {}) == {}


def test_an_interval_holds_its_mean_is_the_same_each_time_and_narrows_with_more_queries():
    few = metrics.estimate([0.0, 1.0] * 10)
    many = metrics.estimate([0.0, 1.0] * 200)
    assert few == metrics.estimate([0.0, 1.0] * 10)
    assert few.low < few.mean == 0.5 < few.high
    assert many.high - many.low < (few.high - few.low) / 3
    assert metrics.estimate([1.0, 1.0, 1.0]) == metrics.MeanEstimate(1, 1, 1)
    assert metrics.estimate([]) == metrics.MeanEstimate(0, 0, 0)


def test_a_constant_gain_is_significant_and_noise_is_not():
    chance = random.Random(1)
    before = [chance.random() for _ in range(40)]
    better = metrics.difference(before, [value + 0.1 for value in before])
    assert better.gain == pytest.approx(0.1)
    assert better.p_value < 0.001
    noise = [value + chance.uniform(-0.1, 0.1) for value in before]
    assert metrics.difference(before, noise).p_value > 0.05
    assert metrics.difference(before, before).p_value == 1


def test_a_p_value_of_few_queries_is_the_exact_one():
    # Three gains of one sign: 2 of the 8 ways to turn them are as extreme.
    assert metrics.difference([0, 0, 0], [1, 1, 1]).p_value == pytest.approx(2 / 8)


@pytest.mark.parametrize("name", ["ndcg@0", "recall", "precision@", "bleu@10", "", "hit@x"])
def test_an_unknown_measure_is_refused_with_the_known_ones(name: str):
    with pytest.raises(metrics.UnknownMeasure, match="ndcg"):
        metrics.checked(name)
    assert metrics.checked(" nDCG@10 ") == "ndcg@10"
