"""What was done, deleted and used: the audit log, deletions of documents, usage of models."""

from . import audit, removals, usage

__all__ = ["audit", "removals", "usage"]
