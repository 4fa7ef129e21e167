"""Embedders turn texts into vectors; each is a backend, configured by its dotted path.

They take texts and return checked vectors of unit length, or raise EmbeddingFailed. Plain Python;
options are passed to constructors. May import `providers`, `text` and `errors`.
"""

from documents.embedders.base import Embedder

__all__ = ["Embedder"]
