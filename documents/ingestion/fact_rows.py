"""Insert a document's table rows as facts, in the transaction that publishes the version."""

import uuid
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from django.conf import settings
from django.db import connection

from documents.extractors import format_of
from documents.memory.naming import Naming, naming_for
from documents.memory.rules.rendering import plain
from documents.models import Document, DocumentVersion, Fact
from documents.passages import Extracted, RowFact
from documents.text.languages import configuration
from documents.text.lexemes import prepare

from .row_facts import row_facts

INSERT_BATCH = 5000
ORDINAL_BITS = 32
NAMED_ROWS = 10  # in a warning
MAX_SEARCHED = 10_000  # characters of a cell
NumberedFact = tuple[uuid.UUID, RowFact]
# Not bulk_create, which spends most of its time building a statement of 1000 rows.
INSERT = """
INSERT INTO documents_fact (namespace_id, document_id, version_id, source, source_uri,
                            last_verified_at, certainty, tags, whose, valid_from, valid_to,
                            id, subject, predicate, object, start, "end",
                            subject_key, predicate_key, object_key, words)
SELECT %s, %s, %s, %s, %s, %s, row.certainty, string_to_array(row.tags, ';'), row.whose,
       row.valid_from, row.valid_to,
       row.id, row.subject, row.predicate, to_jsonb(row.object),
       row.start, row."end", row.subject_key, row.predicate_key, row.object_key,
       to_tsvector('simple', row.words) || to_tsvector(%s::regconfig, row.words)
FROM unnest(%s::uuid[], %s::text[], %s::text[], %s::text[], %s::int[], %s::int[],
            %s::float8[], %s::text[], %s::text[], %s::timestamptz[], %s::timestamptz[],
            %s::text[], %s::text[], %s::text[], %s::text[])
     AS row (id, subject, predicate, object, start, "end",
             certainty, tags, whose, valid_from, valid_to,
             subject_key, predicate_key, object_key, words)
"""


def record_rows(
    document: Document, version: DocumentVersion, extracted: Extracted
) -> tuple[str, ...]:
    """Store the version's rows as facts if the document asks for that; return warnings."""
    if not (document.given.get("rows_as_facts") and format_of(version.media_type).has_rows):
        return ()
    limit = settings.FACTS_PER_DOCUMENT
    unread: list[int] = []
    found = row_facts(extracted, title=document.title, unread=unread)
    numbered = zip(_ids(version), islice(found, limit), strict=False)
    while batch := list(islice(numbered, INSERT_BATCH)):
        _insert(document, version, batch)
    warnings = []
    if next(found, None) is not None:
        warnings.append(
            f"The rows hold more than {limit:,} facts; only the first {limit:,} were kept."
        )
    if unread:
        warnings.append(_of_unread(unread))
    return tuple(warnings)


def _of_unread(rows: Sequence[int]) -> str:
    shown = ", ".join(map(str, rows[:NAMED_ROWS]))
    more = f" and {len(rows) - NAMED_ROWS:,} more" if len(rows) > NAMED_ROWS else ""
    return (
        "No facts were made of rows whose certainty (0 to 1), valid_from or valid_to (ISO 8601) "
        f"cannot be read, or whose cells are too long: {shown}{more}."
    )


def _ids(version: DocumentVersion) -> Iterator[uuid.UUID]:
    """Yield derived ids in row order, so that indexing again gives the same ones."""
    first = uuid.uuid5(version.pk, "rows").int >> ORDINAL_BITS << ORDINAL_BITS
    return (uuid.UUID(int=first + ordinal) for ordinal in range(1 << ORDINAL_BITS))


def _insert(document: Document, version: DocumentVersion, batch: Sequence[NumberedFact]) -> None:
    """Insert rows as facts. They have the same keys as other facts, but are not merged with them,
    because a table is replaced as a whole."""
    naming = naming_for(
        version.namespace_id,
        names=[name for _, fact in batch for name in (fact.subject, fact.object)],
        predicates={fact.predicate for _, fact in batch},
    )
    columns = zip(*(_row(id_, fact, naming) for id_, fact in batch), strict=True)
    keys = (version.namespace_id, version.document_id, version.pk, Fact.Source.ROW)
    language = configuration(document.language)
    with connection.cursor() as cursor:
        cursor.execute(
            INSERT, [*keys, document.source_uri, version.created_at, language, *map(list, columns)]
        )


def _row(id_: uuid.UUID, fact: RowFact, naming: Naming) -> tuple[Any, ...]:
    words = prepare(plain(fact.subject, fact.predicate, fact.object[:MAX_SEARCHED]))
    return (
        id_,
        fact.subject,
        fact.predicate,
        fact.object,
        fact.start,
        fact.end,
        fact.certainty,
        ";".join(fact.tags),  # tags contain no semicolon
        fact.user,
        fact.valid_from,
        fact.valid_to,
        naming.subject(fact.subject),
        naming.predicate(fact.predicate),
        naming.object(fact.object),
        f"{words.running} {words.extras}",
    )
