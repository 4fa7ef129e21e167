"""Embedders turn texts into vectors; each is a backend that settings name by its dotted path."""

from documents.embedders.base import Embedder

__all__ = ["Embedder"]
