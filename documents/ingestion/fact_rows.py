"""Insert a document's table rows as facts, in the transaction that publishes the version."""

import uuid
from collections.abc import Iterator, Sequence
from itertools import islice

from django.conf import settings
from django.db import connection

from documents.extractors import format_of
from documents.models import Document, DocumentVersion, Fact
from documents.passages import Extracted, RowFact

from .row_facts import row_facts

INSERT_BATCH = 5000
ORDINAL_BITS = 32
# Not bulk_create, which spends most of its time building a statement of 1000 rows.
INSERT = """
INSERT INTO documents_fact (namespace_id, document_id, version_id, source, certainty,
                            id, subject, predicate, object, start, "end")
SELECT %s, %s, %s, %s, 1.0, row.*
FROM unnest(%s::uuid[], %s::text[], %s::text[], %s::text[], %s::int[], %s::int[]) AS row
"""


def record_rows(
    document: Document, version: DocumentVersion, extracted: Extracted
) -> tuple[str, ...]:
    """Store the version's rows as facts if the document asks for that; return warnings."""
    if not (document.given.get("rows_as_facts") and format_of(version.media_type).has_rows):
        return ()
    limit = settings.FACTS_PER_DOCUMENT
    found = row_facts(extracted, title=document.title)
    numbered = zip(_ids(version), islice(found, limit), strict=False)
    while batch := list(islice(numbered, INSERT_BATCH)):
        _insert(version, batch)
    if next(found, None) is None:
        return ()
    return (f"The rows hold more than {limit:,} facts; only the first {limit:,} were kept.",)


def _ids(version: DocumentVersion) -> Iterator[uuid.UUID]:
    """Yield derived ids in row order, so that indexing again gives the same ones."""
    first = uuid.uuid5(version.pk, "rows").int >> ORDINAL_BITS << ORDINAL_BITS
    return (uuid.UUID(int=first + ordinal) for ordinal in range(1 << ORDINAL_BITS))


def _insert(version: DocumentVersion, batch: Sequence[tuple[uuid.UUID, RowFact]]) -> None:
    columns = zip(
        *((id_, f.subject, f.predicate, f.object, f.start, f.end) for id_, f in batch), strict=True
    )
    keys = (version.namespace_id, version.document_id, version.pk, Fact.Source.ROW)
    with connection.cursor() as cursor:
        cursor.execute(INSERT, [*keys, *map(list, columns)])
