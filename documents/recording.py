"""Writing down what the rows of a document say, in the transaction that publishes them."""

import uuid
from collections.abc import Iterator
from itertools import islice

from django.conf import settings

from .extractors import extractor_for
from .models import Document, DocumentVersion, Fact
from .passages import Extracted
from .rows import row_facts

INSERT_BATCH = 1000
ORDINAL_BITS = 32


def record_rows(
    document: Document, version: DocumentVersion, extracted: Extracted
) -> tuple[str, ...]:
    """The version's rows as facts in the place of the former one's; none if nobody asked for them.

    Returns what its reader should be warned of.
    """
    Fact.objects.filter(document=document, source=Fact.Source.ROW).delete()
    if not (document.given.get("rows_as_facts") and extractor_for(version.media_type).has_rows):
        return ()
    found = row_facts(extracted, title=document.title)
    limit = settings.FACTS_PER_DOCUMENT
    facts = (
        Fact(
            id=fact_id,
            namespace_id=version.namespace_id,
            subject=fact.subject,
            predicate=fact.predicate,
            object=fact.object,
            object_md5=Fact.md5_of(fact.object),
            source=Fact.Source.ROW,
            document=document,
            version=version,
            start=fact.start,
            end=fact.end,
        )
        for fact_id, fact in zip(_ids(version), islice(found, limit), strict=False)
    )
    while batch := list(islice(facts, INSERT_BATCH)):
        Fact.objects.bulk_create(batch)
    if next(found, None) is None:
        return ()
    return (f"The rows say more than {limit:,} facts; only the first {limit:,} were kept.",)


def _ids(version: DocumentVersion) -> Iterator[uuid.UUID]:
    """Made from what they are, so that indexing again gives the same; in the order of the rows."""
    first = uuid.uuid5(version.pk, "rows").int >> ORDINAL_BITS << ORDINAL_BITS
    return (uuid.UUID(int=first + ordinal) for ordinal in range(1 << ORDINAL_BITS))
