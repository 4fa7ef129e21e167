"""Common parts of local models: prefixes, exact token counts, shortened vectors."""

import threading
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from documents.embedders.base import Embedder, Vectors, identity_of
from documents.embedders.encoders import MAX_TEXT_LENGTH, Encoder
from documents.embedders.model_files import ModelFiles
from documents.embedders.windows import mean, windows
from documents.text.boundaries import character_spans, word_spans

if TYPE_CHECKING:
    from tokenizers import Tokenizer

# The tokenizer uses 100 to 400 bytes of memory per character: 2 GB for 5 MB of text.
CHARACTERS_AT_ONCE = 500_000
TEXTS_AT_ONCE = 4096
FEW_CHARACTERS = 4000


class LocalEmbedder(Embedder):
    """If `dimensions` is below the model's, vectors are truncated, as Matryoshka models allow."""

    provider: str
    identity_extra = ""
    max_windows = 4

    def __init__(
        self,
        files: ModelFiles,
        *,
        dimensions: int,
        batch_size: int,
        query_prefix: str,
        document_prefix: str,
        max_length: int = 0,
    ) -> None:
        if batch_size < 1 or max_length < 0:
            raise ValueError("batch_size must be 1 or more, max_length 0 or more")
        if not 0 <= dimensions <= files.dimensions:
            raise ValueError(
                f"dimensions must be from 1 to the model's own {files.dimensions}, or 0 for those"
            )
        self.files = files
        self.dimensions = dimensions or files.dimensions
        self.max_input_tokens = min(max_length or files.max_input_tokens, files.max_input_tokens)
        self.batch_size = batch_size
        self.query_prefix = query_prefix
        self.document_prefix = document_prefix
        self.max_tokens = self._content_tokens()
        self._loading = threading.Lock()
        self._encoder: Encoder | None = None

    @abstractmethod
    def load(self) -> Encoder:
        """Load the model. Called once, for the first text."""

    @cached_property
    def identity(self) -> str:
        return identity_of(
            self.provider,
            self.files.name,
            self.files.revision[:12],
            self.dimensions,
            prefixes=(self.query_prefix, self.document_prefix),
            extra=self.identity_extra,
        )

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        if sum(map(len, texts)) < FEW_CHARACTERS:  # not worth waking the tokenizer's threads
            return [len(self._tokenizer.encode(text, add_special_tokens=False)) for text in texts]
        counts = [0] * len(texts)
        for owners, pieces in _batches(texts):
            encoded = self._tokenizer.encode_batch_fast(pieces, add_special_tokens=False)
            for owner, encoding in zip(owners, encoded, strict=True):
                counts[owner] += len(encoding)
        return counts

    def embed_batch(self, texts: list[str]) -> Vectors:
        return self._embedded(texts, self.document_prefix)

    def embed_query_batch(self, texts: list[str]) -> Vectors:
        return self._embedded(texts, self.query_prefix)

    def warm(self) -> None:
        self._encode(["warm"])

    def _embedded(self, texts: Sequence[str], prefix: str) -> Vectors:
        windows_by_text = [
            windows(text, self._tokenizer, tokens=self.max_tokens, at_most=self.max_windows)
            for text in texts
        ]
        vectors = iter(
            self._encode([prefix + part for parts in windows_by_text for part, _ in parts])
        )
        return [mean([(next(vectors), tokens) for _, tokens in parts]) for parts in windows_by_text]

    def _encode(self, texts: list[str]) -> Vectors:
        import numpy as np

        with self._loading:
            encoder = self._encoder = self._encoder or self.load()
        vectors = np.asarray(encoder.encode(texts), dtype=np.float32)[:, : self.dimensions]
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        # Zero and non-finite vectors are kept for the base class to reject.
        normalised = np.divide(vectors, lengths, where=lengths > 0, out=vectors.copy())
        result: Vectors = normalised.tolist()
        return result

    @cached_property
    def _tokenizer(self) -> "Tokenizer":
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(self.files.tokenizer))
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer

    def _content_tokens(self) -> int:
        special = self._tokenizer.num_special_tokens_to_add(is_pair=False)
        prefix = max(self.count_tokens([self.query_prefix, self.document_prefix]))
        content = self.max_input_tokens - special - prefix
        if content < 1:
            raise ValueError("the prefixes leave the model no room for a text")
        return content


def _batches(texts: Sequence[str]) -> Iterator[tuple[list[int], list[str]]]:
    """Yield texts with their indices, in batches that fit in memory; very long texts are split."""
    owners: list[int] = []
    pieces: list[str] = []
    characters = 0
    for owner, text in enumerate(texts):
        for piece in _pieces(text):
            if characters + len(piece) > CHARACTERS_AT_ONCE or len(pieces) == TEXTS_AT_ONCE:
                yield owners, pieces
                owners, pieces, characters = [], [], 0
            owners.append(owner)
            pieces.append(piece)
            characters += len(piece)
    yield owners, pieces


def _pieces(text: str) -> Iterator[str]:
    if len(text) <= MAX_TEXT_LENGTH:
        yield text
        return
    for start, end in word_spans(text, 0, len(text), length=MAX_TEXT_LENGTH):
        for span in character_spans(text, start, end, length=MAX_TEXT_LENGTH):
            yield text[slice(*span)]
