"""Parts that do not work, for tests that pull them out."""

from typing import Any

from documents.embedders.hashing import HashingEmbedder


class BrokenEmbedder(HashingEmbedder):
    def embed_batch(self, texts: list[str]) -> list[list[float]]:
        raise ConnectionError("the model is away")


class BrokenReranker:
    name = "remote"

    def rerank(self, query: str, passages: Any, *, deadline: float) -> list[float]:
        raise RuntimeError("no reranker today")

    def warm(self) -> None:
        pass
