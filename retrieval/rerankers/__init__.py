"""Rerankers score query and passage together; each is a backend of settings.RERANKERS.

They take a query, passages and a deadline, and return one score per passage or raise RerankFailed.
Plain Python: may import providers and language models of documents, but no models and no settings.
"""

from retrieval.rerankers.base import Reranker, RerankFailed, RerankPassage

__all__ = ["RerankFailed", "RerankPassage", "Reranker"]
