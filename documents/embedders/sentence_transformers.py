"""The local model: sentence-transformers, by default the one that is installed as a package.

Only embedding itself loads torch; counting tokens or asking for dimensions does not. A text longer
than the model reads at once is read in windows of even length; its vector is their mean, each
weighted by its tokens.
"""

import hashlib
import json
import math
import os
import threading
from collections.abc import Iterator, Sequence
from functools import cached_property
from importlib import import_module
from itertools import pairwise
from typing import TYPE_CHECKING

from documents.cutting import character_spans, word_spans
from documents.embedders.base import Embedder, Vectors
from documents.embedders.model_files import ModelFiles

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from tokenizers import Tokenizer

# The tokenizer takes some 100 to 400 bytes of memory for a character: 5 MB at once, 2 GB.
LONGEST_TEXT = 100_000
CHARACTERS_AT_ONCE = 500_000
TEXTS_AT_ONCE = 4096
FEW_CHARACTERS = 4000
CHARACTERS_PER_TOKEN = 12  # at most, on average
SLACK = 8  # tokens of a window left free, so that it can begin with a whole word


class SentenceTransformersEmbedder(Embedder):
    """`model` is a directory, a name on the Hugging Face hub, or "" for the bundled model."""

    max_windows = 4

    def __init__(
        self,
        model: str = "",
        *,
        threads: int = 0,
        batch_size: int = 64,
        query_prefix: str = "",
        document_prefix: str = "",
        device: str = "cpu",
    ) -> None:
        if threads < 0 or batch_size < 1:
            raise ValueError("threads must be 0 or more, and batch_size 1 or more")
        self.model = model
        self.threads = threads  # 0 leaves the number to torch
        self.batch_size = batch_size
        self.query_prefix = query_prefix
        self.document_prefix = document_prefix
        self.device = device
        self.files = ModelFiles(model)
        self.dimensions = self.files.dimensions
        self.max_tokens = self._content_tokens()
        self._lock = threading.Lock()
        self._loaded: SentenceTransformer | None = None

    @cached_property
    def identity(self) -> str:
        prefixes = self.query_prefix, self.document_prefix
        digest = hashlib.sha256(json.dumps(prefixes).encode()).hexdigest()[:8]
        ending = f"/prefixes-{digest}" if any(prefixes) else ""
        name = f"sentence-transformers/{self.files.name}@{self.files.revision[:12]}"
        return f"{name}/{self.dimensions}/normalized{ending}"

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
        windows = [self._windows(text) for text in texts]
        vectors = iter(self._encode([prefix + part for parts in windows for part, _ in parts]))
        return [_mean([(next(vectors), tokens) for _, tokens in parts]) for parts in windows]

    def _windows(self, text: str) -> list[tuple[str, int]]:
        """What the model reads one after the other, with its tokens; most texts are one window."""
        if len(text) <= self.max_tokens:  # no token is shorter than a character
            return [(text, 1)]
        # The tokenizer takes time and memory for every character, and the rest is not read.
        text = text[: self.max_tokens * self.max_windows * CHARACTERS_PER_TOKEN]
        encoding = self._tokenizer.encode(text, add_special_tokens=False)
        read = min(len(encoding), self.max_tokens * self.max_windows)
        if read <= self.max_tokens:
            return [(text, 1)]
        count = -(-read // max(SLACK, self.max_tokens - SLACK))
        words = encoding.word_ids
        edges = [_word_start(words, read * number // count) for number in range(count)]
        return [
            (text[encoding.offsets[first][0] : encoding.offsets[stop - 1][1]], stop - first)
            for first, stop in pairwise([*edges, read])
        ]

    def _encode(self, texts: list[str]) -> Vectors:
        # One thread at a time: a Hugging Face tokenizer in use elsewhere raises "Already borrowed".
        with self._lock:
            model = self._loaded = self._loaded or self._load()
            vectors: Vectors = model.encode(
                texts,
                batch_size=self.batch_size,
                normalize_embeddings=True,
                show_progress_bar=False,
            ).tolist()
        return vectors

    def _load(self) -> "SentenceTransformer":
        if self.files.is_local:
            os.environ.setdefault("HF_HUB_OFFLINE", "1")
            os.environ.setdefault("TRANSFORMERS_OFFLINE", "1")
        import torch
        from sentence_transformers import SentenceTransformer

        import_module("transformers.utils.logging").disable_progress_bar()
        if self.threads:
            torch.set_num_threads(self.threads)
        if self.files.is_local:
            directory = str(self.files.directory)
            return SentenceTransformer(directory, device=self.device, local_files_only=True)
        return SentenceTransformer(self.model, device=self.device, revision=self.files.revision)

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
        content = self.files.longest_input - special - prefix
        if content < 1:
            raise ValueError("the prefixes leave the model no room for a text")
        return content


def _word_start(words: Sequence[int | None], token: int) -> int:
    """The first token of the word that this one belongs to, if it is not far."""
    start = token
    while start and words[start] is not None and words[start] == words[start - 1]:
        start -= 1
    return start if token - start < SLACK else token


def _mean(windows: Sequence[tuple[list[float], int]]) -> list[float]:
    if len(windows) == 1:
        return windows[0][0]
    summed = [
        sum(value * tokens for value, (_, tokens) in zip(values, windows, strict=True))
        for values in zip(*(vector for vector, _ in windows), strict=True)
    ]
    length = math.hypot(*summed)
    return [value / length for value in summed]


def _batches(texts: Sequence[str]) -> Iterator[tuple[list[int], list[str]]]:
    """Texts with their indices, as many at once as memory allows, the longest ones in pieces."""
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
    if len(text) <= LONGEST_TEXT:
        yield text
        return
    for start, end in word_spans(text, 0, len(text), length=LONGEST_TEXT):
        for span in character_spans(text, start, end, length=LONGEST_TEXT):
            yield text[slice(*span)]
