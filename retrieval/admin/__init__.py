"""The admin pages of reindexes.

In: clicks of operators. Out: started, compared, switched and rolled back reindexes. May import
`documents.admin` and everything in `retrieval` but the API.
"""

from . import reindexes

__all__ = ["reindexes"]
