"""What belongs to the whole installation: keys of operators, which namespaces a user sees, failed
logins, and receipts of deleted namespaces."""

import uuid

from django.conf import settings
from django.db import models
from django.db.models.functions import Now
from django.utils import timezone

from .namespaces import Namespace


class OperatorKey(models.Model):
    """A credential for managing namespaces and their keys over the API. It belongs to no namespace
    and cannot read content. The application role cannot read this table
    (ragsite/database/roles.py)."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=200, blank=True)
    prefix = models.CharField(max_length=16, unique=True, editable=False)
    secret_sha256 = models.CharField(max_length=64, editable=False)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        verbose_name = "operator key"
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return f"{self.name or 'operator key'} (rsop_{self.prefix}_…)"

    @property
    def is_active(self) -> bool:
        is_expired = self.expires_at is not None and self.expires_at <= timezone.now()
        return self.revoked_at is None and not is_expired


class NamespaceAccess(models.Model):
    """A namespace that a user sees: in the admin if they are staff, and on the pages.

    Superusers, and users with the permission `see_every_namespace`, do not need these rows. The
    application role can read only those of its own namespace.
    """

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="namespace_access"
    )
    namespace = models.ForeignKey(Namespace, on_delete=models.CASCADE, related_name="+")
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        verbose_name = "namespace a user sees"
        verbose_name_plural = "namespaces a user sees"
        constraints = [
            models.UniqueConstraint(fields=["user", "namespace"], name="access_given_once")
        ]

    def __str__(self) -> str:
        return str(self.namespace)


class NamespaceRemoval(models.Model):
    """The deletion of a namespace, from the request to the receipt: queued → running → finished.

    It outlives the namespace, whose id is therefore stored as a plain value.
    """

    class State(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        FINISHED = "finished"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    slug = models.CharField(max_length=63)
    removed_namespace = models.UUIDField(unique=True)
    state = models.CharField(max_length=10, choices=State, default=State.QUEUED)
    requested_by = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    lease_token = models.UUIDField(null=True, editable=False)
    lease_until = models.DateTimeField(null=True, editable=False)
    finished_at = models.DateTimeField(null=True, editable=False)
    rows = models.JSONField(default=dict, help_text="How many rows were removed, by kind.")
    files = models.BigIntegerField(default=0, help_text="Stored originals that were removed.")
    files_left = models.JSONField(default=list, help_text="Storage keys that could not be removed.")

    class Meta:
        ordering = ["-created_at", "-id"]

    def __str__(self) -> str:
        return f"{self.slug} ({self.state})"


class DatabaseIdentity(models.Model):
    """Identifies this database, so that a restored or copied one is recognised. One row.

    Files without a row that were stored before `restored_at` may belong to documents that the
    restored database does not know, and are kept (documents/intake/unowned.py).
    """

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    identity = models.CharField(max_length=200)
    restored_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name_plural = "database identities"
        constraints = [
            models.CheckConstraint(condition=models.Q(pk=1), name="database_identity_one_row")
        ]

    def __str__(self) -> str:
        return self.identity


class LoginThrottle(models.Model):
    """Counters of failed logins. `key` is pair:USER@ADDRESS, user:USER or address:ADDRESS
    (documents/accounts/login_throttle.py)."""

    key = models.CharField(max_length=400, primary_key=True)
    failures = models.PositiveIntegerField(default=0)
    locks = models.PositiveIntegerField(default=0, help_text="In a row: each lasts longer.")
    locked_until = models.DateTimeField(null=True)
    last_attempt_at = models.DateTimeField(db_default=Now())
    last_success_at = models.DateTimeField(null=True)

    class Meta:
        default_permissions = ("view",)

    def __str__(self) -> str:
        return self.key
