"""Rerankers read query and passage together; each is a backend that settings name by its path."""

from retrieval.rerankers.base import Reranker, RerankFailed, RerankPassage

__all__ = ["RerankFailed", "RerankPassage", "Reranker"]
