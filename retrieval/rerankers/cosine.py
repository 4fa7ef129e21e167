"""Rerank by cosine similarity: no model and no cost."""

from collections.abc import Sequence

from retrieval.rerankers.base import RerankPassage, RerankUnavailable, checked


class CosineReranker:
    name = "cosine"

    def rerank(
        self, query: str, passages: Sequence[RerankPassage], *, deadline: float
    ) -> list[float]:
        similarities = [p.similarity for p in passages if p.similarity is not None]
        if len(similarities) != len(passages):
            raise RerankUnavailable("Some passages have no vector to compare with.")
        return checked(similarities, len(passages))

    def warm(self) -> None:
        return None
