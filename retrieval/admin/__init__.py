"""The admin pages of chunks and reindexes.

In: requests of operators. Out: chunks with their neighbours and traces; started, compared, switched
and rolled back reindexes. May import `documents.admin` and everything in `retrieval` except the
API.
"""

from . import chunks, reindexes

__all__ = ["chunks", "reindexes"]
