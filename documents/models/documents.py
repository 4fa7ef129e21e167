"""Documents, and each content that a document has had."""

import uuid

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models.functions import MD5, Now

from .namespaces import Namespace


class Document(models.Model):
    """One source in a namespace, identified by its source_uri.

    `status` is that of the newest version: queued → processing → ready | failed | cancelled, and
    back to queued with a new version or another attempt. `live_version` is the version that
    searches use.
    """

    class Status(models.TextChoices):
        QUEUED = "queued"
        PROCESSING = "processing"
        READY = "ready"
        FAILED = "failed"
        CANCELLED = "cancelled"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    namespace = models.ForeignKey(
        Namespace, on_delete=models.CASCADE, db_index=False, related_name="documents"
    )
    source_type = models.CharField(max_length=20)
    source_uri = models.TextField()
    # The folder in which `manage.py ingest` found it: a sync only removes documents of its own
    # folder.
    origin = models.TextField(blank=True, default="", db_default="")
    title = models.TextField(blank=True)
    content_sha256 = models.CharField(max_length=64)
    media_type = models.CharField(max_length=200)
    byte_size = models.BigIntegerField()
    tags = ArrayField(models.TextField(), default=list, blank=True)
    metadata = models.JSONField(default=dict, blank=True)
    # Title, tags and metadata from the uploader; the file's own metadata is added to them.
    given = models.JSONField(default=dict, blank=True, editable=False)
    # ISO 639-1: decides how words are stemmed; blank if unknown
    language = models.CharField(max_length=8, blank=True)
    # The date for date filters: the document's own, or else that of its first upload.
    dated_at = models.DateTimeField(db_default=Now())

    status = models.CharField(max_length=12, choices=Status, default=Status.QUEUED)
    error_code = models.CharField(max_length=50, blank=True)
    error_message = models.TextField(blank=True)
    document_version = models.PositiveIntegerField(default=1)
    live_version = models.PositiveIntegerField(null=True)
    chunks_count = models.PositiveIntegerField(default=0)
    tokens_count = models.PositiveIntegerField(default=0)
    # As last indexed.
    embedding_model = models.TextField(blank=True)
    embedding_dim = models.PositiveIntegerField(null=True)
    ingestion_version = models.PositiveIntegerField(null=True)

    created_at = models.DateTimeField(db_default=Now(), editable=False)
    updated_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        constraints = [
            # By its hash, because a btree entry cannot hold a long address.
            models.UniqueConstraint("namespace", MD5("source_uri"), name="document_source_once"),
            models.UniqueConstraint(fields=["namespace", "id"], name="document_in_namespace"),
        ]
        indexes = [
            models.Index(fields=["namespace", "content_sha256"], name="document_content"),
            models.Index(fields=["namespace", "-created_at", "-id"], name="document_newest"),
            models.Index(fields=["namespace", "dated_at"], name="document_dated"),
            # For operators, who see all namespaces at once.
            models.Index(fields=["-created_at", "-id"], name="document_newest_of_all"),
            models.Index(
                fields=["status", "-created_at"],
                condition=~models.Q(status="ready"),
                name="document_not_ready",
            ),
            GinIndex(fields=["tags"], name="document_tags"),
            GinIndex(fields=["metadata"], name="document_metadata", opclasses=["jsonb_path_ops"]),
        ]

    def __str__(self) -> str:
        return self.title or self.source_uri


class DocumentVersion(models.Model):
    """One content of a document: the stored original and the text that spans point into.

    queued → processing → live → superseded;   or → failed | cancelled
    """

    class State(models.TextChoices):
        QUEUED = "queued"
        PROCESSING = "processing"
        LIVE = "live"
        SUPERSEDED = "superseded"
        FAILED = "failed"
        CANCELLED = "cancelled"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    namespace = models.ForeignKey(
        Namespace, on_delete=models.CASCADE, db_index=False, related_name="+"
    )
    # In the database (namespace, document) → document with ON DELETE CASCADE: foreign keys ignore
    # row-level security, so a plain one could refer to another tenant's row.
    document = models.ForeignKey(
        Document,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        related_name="versions",
    )
    number = models.PositiveIntegerField()
    state = models.CharField(max_length=12, choices=State, default=State.QUEUED)
    content_sha256 = models.CharField(max_length=64)
    media_type = models.CharField(max_length=200)
    byte_size = models.BigIntegerField()
    storage_key = models.TextField()
    file_name = models.TextField(blank=True)
    # Chosen by the uploader; blank: detected
    encoding = models.CharField(max_length=40, blank=True, default="", db_default="")
    text = models.TextField(blank=True)
    # Positions of headings (and of pages, if any) in the text; they survive re-chunking.
    outline = models.JSONField(default=dict)
    warnings = models.JSONField(default=list)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    published_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-number"]
        constraints = [
            models.UniqueConstraint(fields=["document", "number"], name="version_number_once"),
            models.UniqueConstraint(fields=["namespace", "id"], name="version_in_namespace"),
            models.UniqueConstraint(
                fields=["document"], condition=models.Q(state="live"), name="version_one_live"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.document_id} v{self.number}"
