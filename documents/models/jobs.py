"""Ingest jobs, whose rows are the source of truth about the work, and the workers' heartbeats."""

import uuid

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Now

from .documents import Document, DocumentVersion
from .namespaces import Namespace


def max_attempts() -> int:
    return settings.JOB_MAX_ATTEMPTS


class IngestJob(models.Model):
    """The work of making one version searchable.

    queued → running → succeeded | failed | cancelled; running → queued when its lease runs out or
    after an error that is worth a retry. An attempt is counted before it starts, so that a file
    that kills its worker is not retried forever.
    """

    class State(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        SUCCEEDED = "succeeded"
        FAILED = "failed"
        CANCELLED = "cancelled"

    class Stage(models.TextChoices):
        WAITING = "waiting"
        EXTRACT = "extract"
        SPLIT = "split"
        EMBED = "embed"
        STORE = "store"
        DONE = "done"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    namespace = models.ForeignKey(
        Namespace, on_delete=models.CASCADE, db_index=False, related_name="+"
    )
    document = models.ForeignKey(
        Document, on_delete=models.DO_NOTHING, db_constraint=False, related_name="jobs"
    )
    version = models.ForeignKey(
        DocumentVersion, on_delete=models.DO_NOTHING, db_constraint=False, related_name="jobs"
    )
    state = models.CharField(max_length=10, choices=State, default=State.QUEUED)
    stage = models.CharField(max_length=10, choices=Stage, default=Stage.WAITING)
    attempts = models.PositiveIntegerField(default=0)
    max_attempts = models.PositiveIntegerField(default=max_attempts)
    # The lease is on the database's clock. To take the job away (cancelling, requeueing), state or
    # token is changed, and the worker's next write finds no row, which stops it.
    lease_until = models.DateTimeField(null=True)
    lease_token = models.UUIDField(null=True)
    worker = models.CharField(max_length=100, blank=True)
    passages_total = models.PositiveIntegerField(default=0)
    passages_done = models.PositiveIntegerField(default=0)
    times_ms = models.JSONField(default=dict)
    # Of all its attempts. The cost is an estimate: tokens times the price in the settings.
    embedding_tokens = models.BigIntegerField(default=0)
    embedding_cost = models.DecimalField(max_digits=18, decimal_places=6, default=0)
    error_code = models.CharField(max_length=50, blank=True)
    error_message = models.TextField(blank=True)
    request_id = models.CharField(max_length=128, blank=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    run_after = models.DateTimeField(db_default=Now())
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-created_at"]
        indexes = [
            models.Index(fields=["namespace", "-created_at", "-id"], name="job_newest"),
            models.Index(fields=["-created_at", "-id"], name="job_newest_of_all"),
            models.Index(fields=["namespace", "started_at"], name="job_started"),
            models.Index(
                fields=["namespace", "run_after"],
                condition=models.Q(state="queued"),
                name="job_waiting",
            ),
            models.Index(
                fields=["lease_until"], condition=models.Q(state="running"), name="job_leased"
            ),
            models.Index(
                fields=["finished_at"], condition=models.Q(state="failed"), name="job_failed"
            ),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["version"],
                condition=models.Q(state__in=["queued", "running"]),
                name="job_one_open",
            )
        ]

    def __str__(self) -> str:
        return f"{self.id} {self.state}"


class WorkerHeartbeat(models.Model):
    """The last heartbeat of a group of worker processes."""

    worker = models.CharField(max_length=100, primary_key=True)
    beaten_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.worker


class IdempotentRequest(models.Model):
    """A request with an Idempotency-Key, and its answer, which is kept for a day. Without an
    answer, the holder of the lease is working on it.
    """

    id = models.BigAutoField(primary_key=True)
    namespace = models.ForeignKey(
        Namespace, on_delete=models.CASCADE, db_index=False, related_name="+"
    )
    caller = models.UUIDField()  # the API key's id
    key = models.CharField(max_length=255)
    fingerprint = models.CharField(max_length=64)  # hash of route and body
    status = models.PositiveSmallIntegerField(null=True)
    answer = models.JSONField(null=True)
    # Documents named in the response, which is deleted with any of them.
    document_ids = ArrayField(models.UUIDField(), default=list)
    lease_token = models.UUIDField()
    lease_until = models.DateTimeField(null=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["namespace", "caller", "key"], name="idempotent_request_once"
            )
        ]
        indexes = [models.Index(fields=["namespace", "created_at"], name="idempotent_request_age")]

    def __str__(self) -> str:
        return self.key
