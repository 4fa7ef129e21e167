"""Deletions of many documents: the request and its progress."""

import uuid

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Now

from .namespaces import Namespace


class DocumentRemoval(models.Model):
    """A request to delete documents of one namespace. Workers delete them one by one; queued →
    running → done. The requester is stored for the audit log."""

    class State(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        DONE = "done"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    namespace = models.ForeignKey(
        Namespace, on_delete=models.CASCADE, db_index=False, related_name="+"
    )
    state = models.CharField(max_length=10, choices=State, default=State.QUEUED)
    # The remaining ids; each is dropped when its document has been deleted.
    document_ids = ArrayField(models.UUIDField())
    total = models.PositiveIntegerField()
    removed = models.PositiveIntegerField(default=0)
    failed = models.PositiveIntegerField(default=0)
    chunks = models.BigIntegerField(default=0)
    files = models.BigIntegerField(default=0)
    files_left = models.BigIntegerField(default=0)
    actor_kind = models.CharField(max_length=10)
    actor = models.CharField("asked by", max_length=200, blank=True)
    address = models.CharField(max_length=64, blank=True)
    request_id = models.CharField(max_length=128, blank=True)
    lease_token = models.UUIDField(null=True)
    lease_until = models.DateTimeField(null=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name = "deletion of documents"
        verbose_name_plural = "deletions of documents"
        ordering = ["-created_at", "-id"]
        indexes = [
            models.Index(fields=["namespace", "-created_at"], name="removal_newest"),
            models.Index(
                fields=["created_at"], name="removal_open", condition=~models.Q(state="done")
            ),
        ]

    def __str__(self) -> str:
        return f"{self.removed} of {self.total} deleted"


class PutOffRemoval(models.Model):
    """A stored file to remove when the backup that is copying files has ended.

    It outlives its namespace, whose id is stored without a constraint.
    """

    id = models.BigAutoField(primary_key=True)
    namespace = models.ForeignKey(
        Namespace,
        on_delete=models.DO_NOTHING,
        null=True,
        db_constraint=False,
        db_index=False,
        related_name="+",
    )
    storage_key = models.TextField(unique=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        verbose_name = "file to be removed after a backup"
        verbose_name_plural = "files to be removed after a backup"

    def __str__(self) -> str:
        return self.storage_key
