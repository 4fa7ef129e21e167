"""Rerankers read query and passage together; each is a backend that settings name by its path."""

from retrieval.rerankers.base import Passage, Reranker, RerankFailed

__all__ = ["Passage", "RerankFailed", "Reranker"]
