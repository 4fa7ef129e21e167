"""What every embedder offers. The base batches, and refuses vectors that would spoil an index."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence

from documents.errors import BadVectors, EmbeddingFailed, IngestError

Vectors = list[list[float]]


class Embedder(ABC):
    dimensions: int
    # Of content the model reads at once: special tokens and prefixes already subtracted.
    max_tokens: int
    # A longer text is read in so many windows at most, and its vector is their mean.
    max_windows: int = 1
    batch_size: int = 64

    @property
    @abstractmethod
    def identity(self) -> str:
        """Provider, model, revision, dimensions, normalisation and prefixes.

        Two embedders with one identity give the same vectors.
        """

    def whole_windows(self, tokens: int) -> int:
        """How many tokens are read with as many windows as so many need."""
        return self.max_tokens * -(-tokens // self.max_tokens)

    @abstractmethod
    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text as the model counts them, without special tokens."""

    @abstractmethod
    def embed_batch(self, texts: list[str]) -> Vectors:
        """One vector for each text of a document, unchecked."""

    def embed_query_batch(self, texts: list[str]) -> Vectors:
        """The same for questions, where a model treats them differently."""
        return self.embed_batch(texts)

    def embed_documents(self, texts: Sequence[str]) -> Iterator[Vectors]:
        """Checked vectors, batch by batch, in the order of the texts."""
        for start in range(0, len(texts), self.batch_size):
            yield self._checked(list(texts[start : start + self.batch_size]), self.embed_batch)

    def embed_query(self, text: str) -> list[float]:
        return self._checked([text], self.embed_query_batch)[0]

    def warm(self) -> None:
        """Load what is heavy now, so that the first request does not wait for it."""
        return None

    def _checked(self, texts: list[str], embed: Callable[[list[str]], Vectors]) -> Vectors:
        try:
            vectors = embed(texts)
        except IngestError:
            raise
        except Exception as error:
            # Without the error's own words: a provider's may hold its address and our key.
            name = type(self).__name__
            raise EmbeddingFailed(f"{name} could not embed {len(texts)} texts.") from error
        if len(vectors) != len(texts):
            raise BadVectors(f"Asked for {len(texts)} vectors, the embedder gave {len(vectors)}.")
        for vector in vectors:
            self._check(vector)
        return vectors

    def _check(self, vector: list[float]) -> None:
        if len(vector) != self.dimensions:
            raise BadVectors(
                f"A vector has {len(vector)} dimensions where {self.dimensions} were promised."
            )
        length = math.hypot(*vector)  # not finite if any number is not
        if not math.isfinite(length):
            raise BadVectors("A vector holds a number that is not finite.")
        if length == 0:
            raise BadVectors("A vector is all zeros: no search could ever find it.")
