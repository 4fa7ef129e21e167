"""Collections: named sets of documents inside a namespace."""

import uuid

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Now

from .documents import Document
from .namespaces import Namespace


class Collection(models.Model):
    """A set of documents: a folder, or what OpenAI calls a vector store.

    Deleting it leaves its documents. With expires_after_days it expires that long after it was
    last used; from then on nothing is found in it.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    namespace = models.ForeignKey(
        Namespace, on_delete=models.CASCADE, db_index=False, related_name="+"
    )
    name = models.CharField(max_length=256, null=True)  # noqa: DJ001  (many may have none)
    description = models.TextField(blank=True, default="", db_default="")
    metadata = models.JSONField(default=dict, blank=True)
    expires_after_days = models.PositiveIntegerField(null=True)
    last_active_at = models.DateTimeField(db_default=Now(), editable=False)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["namespace", "name"], name="collection_name_once"),
            models.UniqueConstraint(fields=["namespace", "id"], name="collection_in_namespace"),
        ]
        indexes = [
            models.Index(fields=["namespace", "-created_at", "-id"], name="collection_newest"),
        ]

    def __str__(self) -> str:
        return self.name or str(self.pk)


class CollectionDocument(models.Model):
    """A document's membership in a collection, with attributes to filter by."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    namespace = models.ForeignKey(
        Namespace, on_delete=models.CASCADE, db_index=False, related_name="+"
    )
    # The database holds both with the namespace and ON DELETE CASCADE, like every other link.
    collection = models.ForeignKey(
        Collection,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        related_name="memberships",
    )
    document = models.ForeignKey(
        Document,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        related_name="memberships",
    )
    attributes = models.JSONField(default=dict, blank=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["namespace", "collection", "document"], name="collection_document_once"
            ),
        ]
        indexes = [
            models.Index(fields=["namespace", "document"], name="collection_of_document"),
            models.Index(
                fields=["namespace", "collection", "-created_at", "-id"],
                name="collection_member_newest",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.document_id} in {self.collection_id}"


class CollectionBatch(models.Model):
    """Documents that were added to a collection by one request, so that it can be polled.

    Of a cancelled batch, the documents that were not indexed yet have left the collection.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    namespace = models.ForeignKey(
        Namespace, on_delete=models.CASCADE, db_index=False, related_name="+"
    )
    collection = models.ForeignKey(
        Collection,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        related_name="batches",
    )
    document_ids = ArrayField(models.UUIDField())
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    cancelled_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name_plural = "collection batches"
        indexes = [
            models.Index(
                fields=["namespace", "collection", "-created_at"], name="collection_batch_newest"
            ),
        ]

    def __str__(self) -> str:
        return f"{len(self.document_ids)} documents for {self.collection_id}"
