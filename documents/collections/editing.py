"""Create, find, change and delete collections. Call every function inside namespace()."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models.functions import Now
from django.utils import timezone

from documents.accounts import audit
from documents.ingestion.revision import content_changed
from documents.models import Collection, CollectionDocument

RETRY_WINDOW = timedelta(minutes=10)
ACTIVITY_STEP = timedelta(minutes=1)  # uses that are closer together are stored as one
CHANGEABLE = ("name", "description", "metadata", "expires_after_days")


class CollectionExists(ValueError):
    """The namespace has another collection of this name."""


@dataclass(frozen=True, slots=True)
class CollectionDescription:
    """A collection as described in the client's request to create it."""

    name: str | None = None
    description: str = ""
    metadata: Mapping[str, str] | None = None
    expires_after_days: int | None = None

    def values(self) -> dict[str, Any]:
        metadata = dict(self.metadata or {})
        return {**{n: getattr(self, n) for n in CHANGEABLE}, "metadata": metadata}

    def fits(self, collection: Collection) -> bool:
        return all(getattr(collection, name) == value for name, value in self.values().items())


def create(
    namespace_id: uuid.UUID, description: CollectionDescription, *, is_retry: bool = False
) -> tuple[Collection, bool]:
    """Return the collection and whether it is new: repeating a request creates nothing. A
    collection with a name is recognised by it; one without a name only if `is_retry` says that the
    same request was sent moments ago. Raises CollectionExists if another collection has the name.
    """
    known = _same(description, is_retry=is_retry)
    if known is not None:
        return known, False
    try:
        with transaction.atomic():
            created = Collection.objects.create(namespace_id=namespace_id, **description.values())
    except IntegrityError:  # another request was quicker
        known = _same(description, is_retry=is_retry)
        if known is None:
            raise
        return known, False
    audit.record("collection.create", target=created)
    created.refresh_from_db()
    return created, True


def _same(description: CollectionDescription, *, is_retry: bool) -> Collection | None:
    if description.name is not None:
        named = Collection.objects.filter(name=description.name).first()
        if named is not None and not description.fits(named):
            raise CollectionExists(
                f"There is a collection {description.name!r} already, and it differs."
            )
        return named
    if not is_retry:
        return None
    recent = Collection.objects.filter(name=None, created_at__gt=Now() - RETRY_WINDOW)
    newest = recent.order_by("-created_at", "-id")[:100]
    return next((one for one in newest if description.fits(one)), None)


def named(namespace_id: uuid.UUID, name: str) -> Collection:
    """Return the collection of this name; create it if there is none."""
    found = Collection.objects.filter(name=name).first()
    return found or create(namespace_id, CollectionDescription(name=name))[0]


def find(name_or_id: str | uuid.UUID) -> Collection | None:
    """Find a collection by id or name; an id takes precedence."""
    try:
        by_id = Collection.objects.filter(pk=uuid.UUID(str(name_or_id))).first()
    except ValueError:
        by_id = None
    return by_id or Collection.objects.filter(name=str(name_or_id)).first()


def change(collection: Collection, changes: Mapping[str, Any]) -> Collection:
    """Set the given fields. A new expiry counts from now. Raises CollectionExists."""
    for name, value in changes.items():
        setattr(collection, name, value)
    fields = [name for name in CHANGEABLE if name in changes]
    if "expires_after_days" in changes:
        collection.last_active_at = Now()
        fields.append("last_active_at")
    if not fields:
        return collection
    try:
        with transaction.atomic():
            collection.save(update_fields=fields)
    except IntegrityError:
        raise CollectionExists(f"There is a collection {collection.name!r} already.") from None
    content_changed(collection.namespace_id)
    audit.record("collection.change", target=collection, details={"fields": sorted(changes)})
    collection.refresh_from_db()
    return collection


def delete(collection: Collection) -> int:
    """Delete the collection but no document; return how many documents were in it."""
    members = CollectionDocument.objects.filter(collection=collection).count()
    audit.record("collection.delete", target=collection, details={"documents": members})
    Collection.objects.filter(pk=collection.pk).delete()
    content_changed(collection.namespace_id)
    return members


def expires_at(collection: Collection) -> datetime | None:
    if collection.expires_after_days is None:
        return None
    return collection.last_active_at + timedelta(days=collection.expires_after_days)


def is_expired(collection: Collection) -> bool:
    expiry = expires_at(collection)
    return expiry is not None and expiry <= timezone.now()


def mark_active(collection: Collection) -> None:
    """Record that the collection is in use, which postpones its expiry. An expired one stays
    expired."""
    if is_expired(collection):
        return
    before = Now() - ACTIVITY_STEP
    stale = Collection.objects.filter(pk=collection.pk, last_active_at__lt=before)
    stale.update(last_active_at=Now())
