"""Collections: named sets of documents inside a namespace."""

import uuid

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Now

from .documents import Document
from .namespaces import Namespace


class Collection(models.Model):
    """A set of documents: a folder, or a vector store for OpenAI's clients. Deleting it keeps its
    documents.

    With expires_after_days it expires that long after its last use; searches then find nothing in
    it.
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
    # In the database both foreign keys include the namespace and have ON DELETE CASCADE, as
    # everywhere.
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
    """Documents that one request added to a collection, so that the client can poll their progress.

    Cancelling a batch removes the documents from the collection that are not indexed yet.
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
