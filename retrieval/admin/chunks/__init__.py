"""Chunks in the admin: the list, one chunk's page, and why a search did or did not find it.

In: requests of operators. Out: pages, read as the operator role, and traced searches
(retrieval/inspection/tracing.py). May import what `retrieval.admin` may.
"""

from .changelist import ChunkAdmin

__all__ = ["ChunkAdmin"]
