"""Parts that do not work, for tests that pull them out."""

from documents.embedders.hashing import HashingEmbedder


class BrokenEmbedder(HashingEmbedder):
    def embed_batch(self, texts: list[str]) -> list[list[float]]:
        raise ConnectionError("the model is away")
