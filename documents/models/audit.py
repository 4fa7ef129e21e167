"""The audit log: rows that are only added, and deleted when they are old."""

import uuid

from django.db import models
from django.db.models.functions import Now

from .namespaces import Namespace


class AuditEvent(models.Model):
    """One action. Contains no document content and no secrets.

    Only the owner of the database can change or delete one (migration 0012). The namespace is
    stored by id and by slug, without a constraint, so that the event outlives the namespace.
    """

    class ActorKind(models.TextChoices):
        USER = "user"
        KEY = "key"
        COMMAND = "command"
        SYSTEM = "system"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    created_at = models.DateTimeField("when", db_default=Now(), editable=False)
    actor_kind = models.CharField(max_length=10, choices=ActorKind)
    actor = models.CharField(max_length=200, blank=True)
    namespace = models.ForeignKey(
        Namespace,
        on_delete=models.DO_NOTHING,
        null=True,
        db_constraint=False,
        db_index=False,
        related_name="+",
    )
    namespace_slug = models.CharField("namespace", max_length=63, blank=True)
    action = models.CharField(max_length=60)
    target_kind = models.CharField(max_length=60, blank=True)
    target_id = models.CharField(max_length=64, blank=True)
    target_label = models.CharField(max_length=200, blank=True)
    count = models.BigIntegerField(default=1)
    details = models.JSONField(default=dict, blank=True)
    request_id = models.CharField(max_length=128, blank=True)
    address = models.CharField(max_length=64, blank=True)

    class Meta:
        ordering = ["-created_at", "-id"]
        indexes = [
            models.Index(fields=["namespace", "-created_at", "-id"], name="audit_of_namespace"),
            models.Index(fields=["-created_at", "-id"], name="audit_newest"),
            models.Index(fields=["action", "-created_at"], name="audit_by_action"),
        ]

    def __str__(self) -> str:
        return f"{self.action} by {self.actor or self.actor_kind}"
