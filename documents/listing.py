"""A namespace's documents, newest first: filtered, and a page at a time."""

import base64
import binascii
import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Q, QuerySet

from .collections import editing
from .models import CollectionDocument, Document


class InvalidCursor(ValueError):
    """The cursor was not made by `page_of`."""


@dataclass(frozen=True, slots=True)
class DocumentPage:
    documents: list[Document]
    next_cursor: str | None  # None: this is the last page


def documents_matching(
    *,
    status: str | None = None,
    source_type: str | None = None,
    source_uri: str | None = None,
    tags: Sequence[str] = (),
    collection: str | None = None,
) -> QuerySet[Document]:
    """Select documents with exactly these values, all of the tags, and in the collection, which is
    given by name or id. Inside namespace()."""
    exact = {"status": status, "source_type": source_type, "source_uri": source_uri}
    documents = Document.objects.filter(**{k: v for k, v in exact.items() if v is not None})
    if collection is not None:
        found = editing.find(collection)
        members = CollectionDocument.objects.filter(collection=found.pk if found else None)
        documents = documents.filter(pk__in=members.values("document_id"))
    return documents.filter(tags__contains=list(tags)) if tags else documents


def named_like(documents: QuerySet[Document], words: str) -> QuerySet[Document]:
    """Select documents whose title or source contains every word, ignoring case."""
    for word in words.split():
        documents = documents.filter(Q(title__icontains=word) | Q(source_uri__icontains=word))
    return documents


def page_of(
    documents: QuerySet[Document], *, limit: int, cursor: str | None = None
) -> DocumentPage:
    """Return one page, newest first. New documents do not shift later pages. Raises
    InvalidCursor."""
    if cursor is not None:
        created_at, last_id = _decode(cursor)
        older = Q(created_at__lt=created_at) | Q(created_at=created_at, id__lt=last_id)
        documents = documents.filter(older)
    rows = list(documents.order_by("-created_at", "-id")[: limit + 1])
    has_more = len(rows) > limit
    return DocumentPage(rows[:limit], _encode(rows[limit - 1]) if has_more else None)


def _encode(document: Document) -> str:
    position = json.dumps([document.created_at.isoformat(), str(document.pk)])
    return base64.urlsafe_b64encode(position.encode()).decode()


def _decode(cursor: str) -> tuple[datetime, uuid.UUID]:
    try:
        created_at, last_id = json.loads(base64.urlsafe_b64decode(cursor.encode()))
        moment, last = datetime.fromisoformat(created_at), uuid.UUID(last_id)
    except (ValueError, TypeError, AttributeError, RecursionError, binascii.Error):
        raise InvalidCursor(cursor) from None
    if moment.utcoffset() != timedelta(0):  # cursors made here are in UTC
        raise InvalidCursor(cursor)
    return moment, last
