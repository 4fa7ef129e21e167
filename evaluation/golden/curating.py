"""Edit golden sets, queries and judgements; used by API, admin and import.

Call inside namespace() or operator().
"""

import hashlib
import uuid
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from django.db.models.functions import MD5, Now

from documents.models import Document, DocumentVersion
from evaluation.errors import BadGoldenSet, NotFound
from evaluation.measures.quotes import place_of
from evaluation.models import GoldenQuery, GoldenSet, Judgement
from evaluation.models.golden import HIGHEST_GRADE
from retrieval.api.filters import FiltersSerializer, filters_of
from retrieval.query_log import is_hashed
from retrieval.requests import Filters

MAX_QUERY_LENGTH = 4000
BATCH = 500


def find_set(name: str, *, namespace_id: uuid.UUID) -> GoldenSet:
    """Find a set by name or id. Raises NotFound."""
    sets = GoldenSet.objects.filter(namespace_id=namespace_id)
    found = sets.filter(name=name).first()
    if found is None:
        try:
            found = sets.filter(pk=uuid.UUID(name)).first()
        except ValueError:
            found = None
    if found is None:
        raise NotFound(f"There is no golden set {name!r} in this namespace.")
    return found


def read_filters(filters: Mapping[str, Any]) -> Filters:
    """Convert a query's stored filters to the search's Filters."""
    form = FiltersSerializer(data=dict(filters))
    if not form.is_valid():
        raise BadGoldenSet(f"These filters cannot be used: {_sentence(form.errors)}")
    return filters_of(form.validated_data)


def _sentence(errors: Any) -> str:
    """The serializer's errors as one line: `tags: Give a list. kind: …`."""
    if isinstance(errors, Mapping):
        parts = [
            _sentence(wrong) if name == "non_field_errors" else f"{name}: {_sentence(wrong)}"
            for name, wrong in errors.items()
        ]
    else:
        parts = [_sentence(one) if isinstance(one, Mapping | list) else str(one) for one in errors]
    return " ".join(parts)


def check_query(text: str, filters: Mapping[str, Any]) -> None:
    if not text.strip():
        raise BadGoldenSet("The query is blank.")
    if len(text) > MAX_QUERY_LENGTH:
        raise BadGoldenSet(f"A query has at most {MAX_QUERY_LENGTH:,} characters.")
    if is_hashed(text):
        raise BadGoldenSet("Only the hash of this question was kept (QUERY_LOG_TEXT).")
    if "\x00" in text:
        raise BadGoldenSet("A query cannot contain NUL characters.")
    read_filters(filters)


def add_query(golden_set: GoldenSet, text: str, **fields: Any) -> GoldenQuery:
    """Get the set's query with this text, or create it."""
    check_query(text, fields.get("filters", {}))
    query, _ = GoldenQuery.objects.get_or_create(
        golden_set=golden_set,
        text=text,
        defaults={"namespace_id": golden_set.namespace_id, **fields},
    )
    touch(golden_set.pk)
    return query


def change_query(query: GoldenQuery, **changes: Any) -> None:
    for name, value in changes.items():
        setattr(query, name, value)
    check_query(query.text, query.filters)
    query.save(update_fields=list(changes))
    touch(query.golden_set_id)


def judge(
    query: GoldenQuery,
    document: Document,
    *,
    grade: int,
    span: tuple[int, int] | None = None,
    quote: str = "",
    part: int | None = None,
    is_hard_negative: bool = False,
) -> Judgement:
    """Judge a document, or a span of its live text given by offsets or as a quotation. Replaces a
    judgement on the same span, which keeps its part of the answer unless `part` is passed."""
    if not 0 <= grade <= HIGHEST_GRADE:
        raise BadGoldenSet(f"A grade is between 0 and {HIGHEST_GRADE}.")
    if is_hard_negative and grade:
        raise BadGoldenSet("A hard negative has grade 0.")
    if span or quote:
        start, end, quote = placed(document, span=span, quote=quote)
        place: dict[str, Any] = {"start": start, "end": end}
    else:
        place = {"start": None, "end": None}
    judgement, _ = Judgement.objects.update_or_create(
        query=query,
        source_uri=document.source_uri,
        **place,
        defaults={
            "namespace_id": query.namespace_id,
            "document": document,
            "quote": quote,
            "grade": grade,
            "is_hard_negative": is_hard_negative,
            **({} if part is None else {"part": part}),
        },
    )
    touch(query.golden_set_id)
    return judgement


def placed(document: Document, *, span: tuple[int, int] | None, quote: str) -> tuple[int, int, str]:
    """Return (start, end, quote) in the document's live text."""
    text = live_text(document)
    if span and not quote:
        start, end = span
        if not 0 <= start < end <= len(text) or not text[start:end].strip():
            raise BadGoldenSet(f"The document's text has {len(text)} characters: no such span.")
        return start, end, text[start:end]
    found = place_of(quote, text, near=span[0] if span else 0)
    if found is None:
        raise BadGoldenSet(f"This quotation is not in {document.source_uri}: {quote[:80]!r}.")
    return *found, text[slice(*found)]


def live_text(document: Document) -> str:
    """Return the text of the live version; blank before the first version is ready."""
    live = DocumentVersion.objects.filter(document=document, state=DocumentVersion.State.LIVE)
    return live.values_list("text", flat=True).first() or ""


def by_source(
    namespace_id: uuid.UUID, source_uris: Collection[str]
) -> Iterator[tuple[str, Document]]:
    """Return the documents with these sources, by source; missing ones are left out."""
    wanted = list(dict.fromkeys(source_uris))
    for start in range(0, len(wanted), BATCH):
        # By its hash, because the unique index is on the hash.
        digests = [
            hashlib.md5(uri.encode(errors="replace"), usedforsecurity=False).hexdigest()
            for uri in wanted[start : start + BATCH]
        ]
        documents = Document.objects.alias(source_hash=MD5("source_uri"))
        for document in documents.filter(namespace_id=namespace_id, source_hash__in=digests):
            yield document.source_uri, document


def touch(golden_set_id: uuid.UUID) -> None:
    GoldenSet.objects.filter(pk=golden_set_id).update(updated_at=Now())
