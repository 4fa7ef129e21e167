"""The documents that pass a filter, for acts on documents and not on passages."""

import uuid

from django.db import connection

from .filters import Filters, compile_filters


def documents_passing(filters: Filters) -> list[uuid.UUID]:
    """Their ids, oldest first; all of them for an empty filter. Inside namespace()."""
    condition, parameters = compile_filters(filters)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT document.id FROM documents_document document "
            f"WHERE {condition or 'true'} ORDER BY document.created_at, document.id",
            parameters,
        )
        return [row[0] for row in cursor.fetchall()]
