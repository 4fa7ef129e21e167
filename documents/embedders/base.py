"""The interface of embedders. The base class batches texts and checks the vectors."""

import hashlib
import json
import math
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context

from documents.errors import (
    BadVectors,
    EmbeddingFailed,
    EmbeddingProviderFailed,
    IngestError,
)
from documents.providers.errors import ProviderFailed

Vectors = list[list[float]]
Spend = Callable[[int], None]  # called with the tokens of each batch


def unmetered(tokens: int) -> None:
    return None


class Embedder(ABC):
    dimensions: int
    # Content tokens the model reads at once, excluding special tokens and prefixes.
    max_tokens: int
    # A longer text is read in up to this many windows; its vector is their mean.
    max_windows: int = 1
    batch_size: int = 64
    concurrency: int = 1  # batches in progress at once
    price: float = 0.0  # per million tokens

    @property
    @abstractmethod
    def identity(self) -> str:
        """Provider, model, revision, dimensions, normalisation and prefixes.

        Two embedders with the same identity return the same vectors.
        """

    def whole_windows(self, tokens: int) -> int:
        """Round the tokens up to whole windows."""
        return self.max_tokens * -(-tokens // self.max_tokens)

    @abstractmethod
    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return the tokens of each text as counted by the model, without special tokens."""

    @abstractmethod
    def embed_batch(self, texts: list[str]) -> Vectors:
        """Return one unchecked vector per document text."""

    def embed_query_batch(self, texts: list[str]) -> Vectors:
        """The same for queries, for models that treat them differently."""
        return self.embed_batch(texts)

    def embed_metered(self, texts: list[str]) -> tuple[Vectors, int]:
        """Return the vectors of `embed_batch`, and the tokens used."""
        return self.embed_batch(texts), sum(self.count_tokens(texts))

    def embed_documents(
        self, texts: Sequence[str], *, spend: Spend = unmetered
    ) -> Iterator[Vectors]:
        """Yield checked vectors, batch by batch, in the order of the texts.

        While the caller stores a batch, the next ones are already being computed.
        """
        size = self.batch_size
        batches = [list(texts[start : start + size]) for start in range(0, len(texts), size)]
        for vectors, tokens in self._embed_batches(batches):
            spend(tokens)
            yield vectors

    def _embed_batches(self, batches: Sequence[list[str]]) -> Iterator[tuple[Vectors, int]]:
        if len(batches) < 2:  # not worth a thread
            yield from map(self._metered, batches)
            return
        pool = ThreadPoolExecutor(self.concurrency, thread_name_prefix="embed")
        pending: deque[Future[tuple[Vectors, int]]] = deque()
        try:
            for batch in batches:
                pending.append(pool.submit(copy_context().run, self._metered, batch))
                if len(pending) > self.concurrency:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:  # also if the caller stops iterating
            pool.shutdown(wait=False, cancel_futures=True)

    def embed_query(self, text: str) -> list[float]:
        (vector,) = self._checked([text], self.embed_query_batch)
        return vector

    def warm(self) -> None:
        """Load anything heavy now, so that the first request does not wait for it."""
        return None

    def _metered(self, texts: list[str]) -> tuple[Vectors, int]:
        tokens = 0

        def embed(texts: list[str]) -> Vectors:
            nonlocal tokens
            vectors, tokens = self.embed_metered(texts)
            return vectors

        return self._checked(texts, embed), tokens

    def _checked(self, texts: list[str], embed: Callable[[list[str]], Vectors]) -> Vectors:
        try:
            vectors = embed(texts)
        except IngestError:
            raise
        except ProviderFailed as error:
            raise EmbeddingProviderFailed(str(error), code=error.code) from error.__cause__
        except Exception as error:
            # Leave out the error's message: it may contain the provider's address and key.
            name = type(self).__name__
            raise EmbeddingFailed(
                f"{name} could not embed {len(texts)} text{'s'[: len(texts) != 1]}."
            ) from error
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
        length = math.hypot(*vector)  # not finite if any number is not finite
        if not math.isfinite(length):
            raise BadVectors("A vector holds a number that is not finite.")
        if length == 0:
            raise BadVectors("A vector is all zeros: no search could ever find it.")


def identity_of(
    provider: str,
    model: str,
    revision: str,
    dimensions: int,
    *,
    prefixes: tuple[str, str],
    extra: str = "",
) -> str:
    """Return one line with everything that affects a vector; vectors are always normalised."""
    digest = hashlib.sha256(json.dumps(prefixes).encode()).hexdigest()[:8]
    ending = f"/prefixes-{digest}" if any(prefixes) else ""
    at_revision = f"@{revision}" if revision else ""
    return f"{provider}/{model}{at_revision}/{dimensions}/normalized{extra}{ending}"
