"""The documents that pass a filter, for operations on documents instead of passages."""

import uuid

from django.db import connection

from retrieval.filter_sql import compile_filters
from retrieval.filters import Filters


def documents_passing(filters: Filters) -> list[uuid.UUID]:
    """Return their ids, sorted; those of all documents for an empty filter. Inside namespace()."""
    condition, parameters = compile_filters(filters)
    # The statement contains only our own text; anything a user wrote is a parameter.
    statement = f"SELECT id FROM documents_document document WHERE {condition or 'true'}"  # noqa: S608
    with connection.cursor() as cursor:
        cursor.execute(f"{statement} ORDER BY id", parameters)
        return [row[0] for row in cursor.fetchall()]
