"""Documents that were added to a collection together, and the progress of their indexing. Call
every function inside namespace()."""

import uuid
from collections import Counter
from collections.abc import Mapping

from django.db.models.functions import Now

from documents.models import Collection, CollectionBatch, CollectionDocument, Document

from . import membership
from .editing import RETRY_WINDOW

Status = Document.Status
UNFINISHED = (Status.QUEUED, Status.PROCESSING)


def add_batch(
    collection: Collection,
    attributes: Mapping[uuid.UUID, membership.Attributes | None],
    *,
    is_retry: bool = False,
) -> CollectionBatch:
    """Add the documents and record them as a batch; a retry returns the batch that was created
    moments ago. Raises UnknownDocuments."""
    membership.add(collection, attributes)
    ids = sorted(attributes)
    if is_retry:
        recent = CollectionBatch.objects.filter(
            collection=collection, document_ids=ids, created_at__gt=Now() - RETRY_WINDOW
        )
        if (known := recent.order_by("-created_at").first()) is not None:
            return known
    batch = CollectionBatch.objects.create(
        namespace_id=collection.namespace_id, collection=collection, document_ids=ids
    )
    batch.refresh_from_db()
    return batch


def cancel(batch: CollectionBatch) -> None:
    """Remove documents that are not indexed yet from the collection. Their indexing continues."""
    if batch.cancelled_at is not None:
        return
    waiting = Document.objects.filter(pk__in=batch.document_ids, status__in=UNFINISHED)
    pending = set(waiting.values_list("pk", flat=True))
    if not pending:
        return
    membership.remove(batch.collection, pending)
    batch.cancelled_at = Now()
    batch.save(update_fields=["cancelled_at"])
    batch.refresh_from_db()


def statuses(batch: CollectionBatch) -> Counter[str]:
    """Count the batch's documents by status. Documents that were removed from the collection count
    as cancelled if the batch was cancelled, and are not counted otherwise."""
    members = CollectionDocument.objects.filter(
        collection=batch.collection_id, document__in=batch.document_ids
    )
    found = Counter(members.values_list("document__status", flat=True))
    if batch.cancelled_at is not None:
        found[Status.CANCELLED] += len(batch.document_ids) - found.total()
    return found
