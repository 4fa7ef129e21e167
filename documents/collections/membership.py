"""Add documents to collections and remove them. Call every function inside namespace()."""

import uuid
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from django.db.models import Count, QuerySet, Sum

from documents.accounts import audit
from documents.ingestion.revision import content_changed
from documents.models import Collection, CollectionDocument, Document

Attributes: TypeAlias = Mapping[str, str | float | bool]


class UnknownDocuments(LookupError):
    """Some of the documents are not in this namespace."""

    def __init__(self, document_ids: Sequence[uuid.UUID]) -> None:
        super().__init__(f"There is no document {document_ids[0]} in this namespace.")
        self.document_ids = list(document_ids)


@dataclass(slots=True)
class Contents:
    """What a collection contains."""

    by_status: Counter[str] = field(default_factory=Counter)
    bytes: int = 0

    @property
    def documents(self) -> int:
        return self.by_status.total()


def add(
    collection: Collection, attributes: Mapping[uuid.UUID, Attributes | None]
) -> dict[uuid.UUID, CollectionDocument]:
    """Add documents with their attributes; return their memberships, including existing ones.
    `None` keeps the attributes of documents that are already in the collection, and is {} for
    others. Raises UnknownDocuments."""
    ids = sorted(attributes)
    there = Document.objects.filter(pk__in=ids).order_by("pk").select_for_update(no_key=True)
    known = set(there.values_list("pk", flat=True))
    if unknown := [pk for pk in ids if pk not in known]:
        raise UnknownDocuments(unknown)
    members = CollectionDocument.objects.filter(collection=collection, document__in=ids)
    before = {member.document_id: member for member in members}
    CollectionDocument.objects.bulk_create(
        (
            CollectionDocument(
                namespace_id=collection.namespace_id,
                collection=collection,
                document_id=pk,
                attributes=dict(attributes[pk] or {}),
            )
            for pk in ids
            if pk not in before
        ),
        ignore_conflicts=True,  # another request was quicker
    )
    changed = [
        member
        for pk, member in before.items()
        if (wanted := attributes[pk]) is not None and dict(wanted) != member.attributes
    ]
    for member in changed:
        member.attributes = dict(attributes[member.document_id] or {})
    CollectionDocument.objects.bulk_update(changed, ["attributes"])
    if changed or len(before) < len(ids):
        content_changed(collection.namespace_id)
        details = {"documents": len(ids), "new": len(ids) - len(before)}
        audit.record("collection.add", target=collection, details=details)
    return {member.document_id: member for member in members.all()}


def set_attributes(member: CollectionDocument, attributes: Attributes) -> None:
    member.attributes = dict(attributes)
    member.save(update_fields=["attributes"])
    content_changed(member.namespace_id)


def remove(collection: Collection, document_ids: Iterable[uuid.UUID]) -> int:
    """Remove documents from the collection; they stay in the namespace. Return how many were
    removed."""
    members = CollectionDocument.objects.filter(
        collection=collection, document__in=list(document_ids)
    )
    removed, _ = members.delete()
    if removed:
        content_changed(collection.namespace_id)
        audit.record("collection.remove", target=collection, details={"documents": removed})
    return removed


def members_of(collection: Collection, status: Sequence[str] = ()) -> QuerySet[CollectionDocument]:
    """Return the memberships with their documents, optionally only those of some statuses."""
    members = CollectionDocument.objects.filter(collection=collection).select_related("document")
    return members.filter(document__status__in=status) if status else members


def contents_of(collections: Iterable[Collection]) -> dict[uuid.UUID, Contents]:
    """Return the contents of each collection of a page, in one statement."""
    found: dict[uuid.UUID, Contents] = {one.pk: Contents() for one in collections}
    rows = (
        CollectionDocument.objects.filter(collection__in=list(found))
        .values("collection_id", "document__status")
        .annotate(documents=Count("id"), bytes=Sum("document__byte_size"))
    )
    for row in rows:
        held = found[row["collection_id"]]
        held.by_status[row["document__status"]] += row["documents"]
        held.bytes += row["bytes"]
    return found
