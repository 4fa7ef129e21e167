"""The audit log, deletions of documents, and usage of models.

In: rows that the service wrote. Out: read-only lists. May import what `documents.admin` may.
"""

from . import audit, removals, usage

__all__ = ["audit", "removals", "usage"]
