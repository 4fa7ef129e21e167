"""Embedders turn texts into vectors; each is a backend that settings name by its dotted path.

In: texts. Out: checked vectors of unit length, or an EmbeddingFailed. Plain Python: options come
through constructors. May import `providers`, `text` and `errors`; never models or settings.
"""

from documents.embedders.base import Embedder

__all__ = ["Embedder"]
