"""What must hold for every reranker, whatever is behind it."""

import math
import time

import pytest

from retrieval.rerankers import Reranker, RerankFailed, RerankPassage

QUERY = "How hot must the kiln be?"
RIGHT = "Heat the kiln to 1240 degrees for nine hours."
PASSAGES = [
    RerankPassage("Boats longer than twelve metres need a pilot.", 0.1),
    RerankPassage(RIGHT, 0.8),
    RerankPassage("The lamp turns once in ten seconds.", 0.2),
]


class RerankerContract:
    patience = 60.0  # seconds: these tests are about answers, not about speed

    @pytest.fixture
    def reranker(self) -> Reranker:
        raise NotImplementedError

    def soon(self) -> float:
        return time.monotonic() + self.patience

    def test_every_passage_gets_one_finite_score(self, reranker: Reranker) -> None:
        scores = reranker.rerank(QUERY, PASSAGES, deadline=self.soon())
        assert len(scores) == len(PASSAGES)
        assert all(type(score) is float and math.isfinite(score) for score in scores)

    def test_scores_belong_to_passages_and_not_to_places(self, reranker: Reranker) -> None:
        scores = reranker.rerank(QUERY, PASSAGES, deadline=self.soon())
        turned = reranker.rerank(QUERY, PASSAGES[::-1], deadline=self.soon())
        assert turned[::-1] == pytest.approx(scores, abs=1e-5)

    def test_no_passages_get_no_scores(self, reranker: Reranker) -> None:
        assert reranker.rerank(QUERY, [], deadline=self.soon()) == []

    @pytest.mark.parametrize("text", ["", "\x00", "\ud800 half a pair", "🦊" * 5000, "a" * 30_000])
    def test_odd_texts_are_scored_too(self, reranker: Reranker, text: str) -> None:
        scores = reranker.rerank(text, [RerankPassage(text, 0.5)], deadline=self.soon())
        assert len(scores) == 1

    def test_it_has_a_name_and_can_be_warmed(self, reranker: Reranker) -> None:
        reranker.warm()
        assert reranker.name in ("cosine", "cross-encoder", "remote", "llm", "learned")


class DeadlineContract:
    """For those that take time."""

    def test_a_deadline_that_has_passed_ends_it_at_once(self, reranker: Reranker) -> None:
        with pytest.raises(RerankFailed) as caught:
            reranker.rerank(QUERY, PASSAGES, deadline=time.monotonic())
        assert caught.value.code == "rerank_timeout"


class UnderstandingContract:
    """For those that understand, or are told what the passages mean."""

    def test_the_passage_that_answers_comes_first(self, reranker: Reranker) -> None:
        scores = reranker.rerank(QUERY, PASSAGES, deadline=time.monotonic() + 60)
        assert max(scores) == scores[1]
