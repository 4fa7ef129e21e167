"""Rerank by a small linear model that was trained on judgements and feedback."""

import time
from collections.abc import Sequence

from retrieval.rerankers.base import RerankPassage, RerankTimeout, RerankUnavailable, checked
from retrieval.rerankers.linear import LinearModel, features_of


class LearnedReranker:
    """Configured without a model, because each namespace has its own."""

    name = "learned"

    def __init__(self, model: LinearModel | None = None) -> None:
        self.model = model

    def rerank(
        self, query: str, passages: Sequence[RerankPassage], *, deadline: float
    ) -> list[float]:
        if not passages:
            return []
        if self.model is None:
            raise RerankUnavailable("No model has been trained for this namespace.")
        if time.monotonic() >= deadline:  # the work itself takes a few milliseconds
            raise RerankTimeout("There was no time left.")
        return checked(self.model.scores(features_of(query, passages)), len(passages))

    def warm(self) -> None:
        return None
