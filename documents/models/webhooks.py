"""Webhooks: endpoints, events, and the delivery of each event to an endpoint."""

import uuid

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Now

from .documents import Document
from .namespaces import Namespace


class EventType(models.TextChoices):
    DOCUMENT_READY = "document.ready"
    DOCUMENT_FAILED = "document.failed"
    REINDEX_FINISHED = "reindex.finished"
    EVALUATION_FINISHED = "evaluation.finished"
    TEST = "webhook.test"  # only on request


class WebhookEndpoint(models.Model):
    """An address of a client that receives the events of its namespace.

    Its secrets are sealed with SECRET_KEY (ragsite/platform/sealing.py) and shown once. While its
    receiver fails, the endpoint is paused as a whole, so that not every event waits for a timeout.
    """

    class Status(models.TextChoices):
        ENABLED = "enabled"
        DISABLED = "disabled"  # disabled by an operator or a client
        FAILING = "failing", "disabled, it kept failing"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    namespace = models.ForeignKey(
        Namespace, on_delete=models.CASCADE, db_index=False, related_name="+"
    )
    url = models.CharField(
        "URL", max_length=2000, help_text="Where events are sent, by POST. It has to be public."
    )
    description = models.CharField(max_length=200, blank=True, default="")
    events = ArrayField(
        models.CharField(max_length=40, choices=EventType),
        default=list,
        blank=True,
        help_text="Which events are sent; none chosen: all of them.",
    )
    status = models.CharField(max_length=10, choices=Status, default=Status.ENABLED)
    secret = models.TextField(editable=False)
    previous_secret = models.TextField(blank=True, default="", editable=False)
    previous_secret_until = models.DateTimeField(null=True, editable=False)
    failures = models.PositiveIntegerField(default=0, editable=False)  # in a row
    failing_since = models.DateTimeField(null=True, editable=False)
    paused_until = models.DateTimeField(null=True, editable=False)
    last_delivered_at = models.DateTimeField(null=True, editable=False)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        verbose_name = "webhook"
        ordering = ["-created_at"]
        constraints = [
            models.UniqueConstraint(fields=["namespace", "id"], name="webhook_in_namespace"),
        ]
        indexes = [
            models.Index(fields=["namespace", "-created_at", "-id"], name="webhook_newest"),
        ]

    def __str__(self) -> str:
        return self.description or self.host

    @property
    def host(self) -> str:
        """Return the address without its path and query, which may contain a token."""
        return "/".join(self.url.split("/")[:3])


class WebhookEvent(models.Model):
    """An event, as it is sent. Deleted with its document."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    namespace = models.ForeignKey(
        Namespace, on_delete=models.CASCADE, db_index=False, related_name="+"
    )
    type = models.CharField(max_length=40, choices=EventType)
    # In the database the foreign key includes the namespace and has ON DELETE CASCADE, as
    # everywhere.
    document = models.ForeignKey(
        Document,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        null=True,
        related_name="+",
    )
    body = models.TextField()  # the bytes that are signed: JSON
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["namespace", "id"], name="webhook_event_in_namespace"),
        ]
        indexes = [
            models.Index(fields=["namespace", "created_at"], name="webhook_event_age"),
            models.Index(
                fields=["namespace", "document"],
                name="webhook_event_of_document",
                condition=models.Q(document__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.type} {self.pk}"


class WebhookDelivery(models.Model):
    """One event for one endpoint: pending → delivered | failed; failed → pending on request.

    The row is the source of truth about the work, as with jobs: written with the event, claimed
    with a lease.
    """

    class State(models.TextChoices):
        PENDING = "pending"
        DELIVERED = "delivered"
        FAILED = "failed"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    namespace = models.ForeignKey(
        Namespace, on_delete=models.CASCADE, db_index=False, related_name="+"
    )
    endpoint = models.ForeignKey(
        WebhookEndpoint,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        related_name="deliveries",
    )
    event = models.ForeignKey(
        WebhookEvent,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        related_name="deliveries",
    )
    state = models.CharField(max_length=10, choices=State, default=State.PENDING)
    attempts = models.PositiveIntegerField(default=0)
    # number of failures since it was last requested
    retries = models.PositiveIntegerField(default=0)
    run_after = models.DateTimeField(db_default=Now())
    lease_until = models.DateTimeField(null=True)
    lease_token = models.UUIDField(null=True)
    response_status = models.PositiveSmallIntegerField(null=True)
    response_body = models.TextField(blank=True, default="")
    error_code = models.CharField(max_length=50, blank=True, default="")
    error_message = models.TextField(blank=True, default="")
    duration_ms = models.FloatField(null=True)
    attempted_at = models.DateTimeField(null=True)
    delivered_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        verbose_name_plural = "webhook deliveries"
        ordering = ["-created_at"]
        indexes = [
            models.Index(
                fields=["namespace", "endpoint", "-created_at", "-id"],
                name="webhook_delivery_newest",
            ),
            models.Index(fields=["namespace", "event"], name="webhook_delivery_of_event"),
            models.Index(
                fields=["endpoint", "run_after"],
                name="webhook_delivery_due",
                condition=models.Q(state="pending"),
            ),
            models.Index(
                fields=["lease_until"],
                name="webhook_delivery_leased",
                condition=models.Q(lease_until__isnull=False),
            ),
            models.Index(fields=["-created_at"], name="webhook_delivery_all"),
        ]

    def __str__(self) -> str:
        return f"{self.event.type} to {self.endpoint}"
