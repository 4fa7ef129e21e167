"""Rerankers score query and passage together; settings.RERANKERS names each by its dotted path.

In: a query, passages and a deadline. Out: one score per passage, or a RerankFailed. Pure workers:
they import providers and language models of documents, no models and no settings.
"""

from retrieval.rerankers.base import Reranker, RerankFailed, RerankPassage

__all__ = ["RerankFailed", "RerankPassage", "Reranker"]
