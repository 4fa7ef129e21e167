"""The similarity itself: no model, no cost, and no more than the vectors already said."""

from collections.abc import Sequence

from retrieval.rerankers.base import Passage, RerankUnavailable, checked


class CosineReranker:
    name = "cosine"

    def rerank(self, query: str, passages: Sequence[Passage], *, deadline: float) -> list[float]:
        similarities = [p.similarity for p in passages if p.similarity is not None]
        if len(similarities) != len(passages):
            raise RerankUnavailable("Some passages have no vector to compare with.")
        return checked(similarities, len(passages))

    def warm(self) -> None:
        return None
