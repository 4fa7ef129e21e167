"""Documents in the admin: the list, one document's page, uploading and moving.

In: requests of operators. Out: pages, and calls of intake, ingestion and removal. Everything is
read as the operator role, through `get_queryset`, which an operator's namespaces limit. May import
what `documents.admin` may.
"""

from .changelist import DocumentAdmin

__all__ = ["DocumentAdmin"]
