"""Rerankers score query and passage together; each is a backend of settings.RERANKERS.

They take a query, passages and a deadline, and return one score per passage or raise RerankFailed.
Plain Python: may import embedders, providers and language models of documents, and the words of the
extractive writer.
"""

from retrieval.rerankers.base import Reranker, RerankFailed, RerankPassage

__all__ = ["RerankFailed", "RerankPassage", "Reranker"]
