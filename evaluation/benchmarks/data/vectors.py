"""Vectors stored on disk between runs of a benchmark, because embedding takes most of its time."""

import hashlib
import sqlite3
import tempfile
import threading
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from documents.embedders.base import Embedder, Vectors
from documents.embedders.sentence_transformers import SentenceTransformersEmbedder

LOOK_UP = 500
AT_ONCE = 10_000


class KeptVectors:
    def __init__(self, embedder: Embedder, *, directory: Path | None = None) -> None:
        self.embedder = embedder
        name = hashlib.sha256(embedder.identity.encode()).hexdigest()[:16]
        directory = directory or Path(tempfile.gettempdir()) / "ragsite-benchmarks"
        directory.mkdir(parents=True, exist_ok=True)
        # Embedders are called from several threads.
        self.lock = threading.Lock()
        self.database = sqlite3.connect(
            directory / f"{name}.sqlite3", timeout=60, check_same_thread=False
        )
        self.database.execute("CREATE TABLE IF NOT EXISTS vectors (text BLOB PRIMARY KEY, v BLOB)")

    def of(self, texts: Sequence[str]) -> np.ndarray:
        """Return one row per text, in order."""
        with self.lock:
            return self._of(texts)

    def _of(self, texts: Sequence[str]) -> np.ndarray:
        digests = [hashlib.sha256(text.encode()).digest() for text in texts]
        known = self._known(digests)
        missing = {d: t for d, t in zip(digests, texts, strict=True) if d not in known}
        # Texts of similar length together, because the longest one determines the cost of a batch.
        order = sorted(missing, key=lambda digest: len(missing[digest]))
        done = 0
        for batch in self.embedder.embed_documents([missing[digest] for digest in order]):
            rows = np.asarray(batch, dtype=np.float32)
            fresh = dict(zip(order[done : done + len(batch)], rows, strict=True))
            done += len(batch)
            known.update(fresh)
            with self.database:
                self.database.executemany(
                    "INSERT OR IGNORE INTO vectors VALUES (?, ?)",
                    [(digest, row.tobytes()) for digest, row in fresh.items()],
                )
        return np.stack([known[digest] for digest in digests])

    def _known(self, digests: Sequence[bytes]) -> dict[bytes, np.ndarray]:
        known = {}
        for start in range(0, len(digests), LOOK_UP):
            some = digests[start : start + LOOK_UP]
            marks = ",".join("?" * len(some))
            query = f"SELECT text, v FROM vectors WHERE text IN ({marks})"  # noqa: S608
            for digest, row in self.database.execute(query, some):
                known[bytes(digest)] = np.frombuffer(row, dtype=np.float32)
        return known


class KeptEmbedder(Embedder):
    """The bundled model, called only for texts that were not embedded in an earlier run."""

    def __init__(self, **options: Any) -> None:
        self.model = SentenceTransformersEmbedder(**options)
        self.dimensions = self.model.dimensions
        self.max_tokens = self.model.max_tokens
        self.max_windows = self.model.max_windows
        self.batch_size = self.model.batch_size
        self.kept = KeptVectors(self.model)

    @property
    def identity(self) -> str:
        return self.model.identity

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return self.model.count_tokens(texts)

    def embed_batch(self, texts: list[str]) -> Vectors:
        vectors: Vectors = self.kept.of(texts).tolist()
        return vectors


class WordVectors:
    """The mean of the model's input embeddings of all tokens, without the transformer: a thousand
    times faster. Texts with similar words have similar vectors.

    The mean of the first texts is subtracted, because common words would otherwise make all texts
    similar."""

    def __init__(self, embedder: SentenceTransformersEmbedder) -> None:
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer

        weights = load_file(embedder.files.directory / "model.safetensors")
        (table,) = (
            rows for name, rows in weights.items() if name.endswith("word_embeddings.weight")
        )
        self.table = table.astype(np.float32) - table.mean(axis=0)
        self.tokenizer = Tokenizer.from_file(str(embedder.files.tokenizer))
        self.tokenizer.no_padding()
        self.common: np.ndarray | None = None

    def of(self, texts: Sequence[str]) -> np.ndarray:
        means = np.concatenate(
            [self._means(texts[start : start + AT_ONCE]) for start in range(0, len(texts), AT_ONCE)]
        )
        if self.common is None:
            self.common = means.mean(axis=0)
        means -= self.common
        means /= np.linalg.norm(means, axis=1, keepdims=True)
        return means

    def _means(self, texts: Sequence[str]) -> np.ndarray:
        encoded = self.tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        return np.stack([self.table[each.ids or [0]].mean(axis=0) for each in encoded])


class WordEmbedder(Embedder):
    """An embedder with these vectors, for services whose speed is measured and not their
    ranking."""

    def __init__(self, **options: Any) -> None:
        self.model = SentenceTransformersEmbedder()
        self.dimensions = self.model.dimensions
        self.max_tokens = self.model.max_tokens

    @cached_property
    def words(self) -> WordVectors:
        words = WordVectors(self.model)
        words.common = np.zeros(self.dimensions, dtype=np.float32)
        return words

    @property
    def identity(self) -> str:
        return f"benchmark/words-of-{self.model.identity}"

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return self.model.count_tokens(texts)

    def embed_batch(self, texts: list[str]) -> Vectors:
        vectors: Vectors = self.words.of(texts).tolist()
        return vectors
