"""Public links: whoever has one may ask a namespace's documents, and nothing else."""

import uuid

from django.db import models
from django.db.models.functions import Now
from django.utils import timezone

from .namespaces import Namespace


class NamespaceLink(models.Model):
    """A public, read-only way into one namespace. Only the secret's hash is stored; the address is
    shown once."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    namespace = models.ForeignKey(Namespace, on_delete=models.CASCADE, related_name="links")
    name = models.CharField(
        max_length=200, blank=True, help_text="Who has it, e.g. suppliers. Visitors do not see it."
    )
    prefix = models.CharField(max_length=16, unique=True, editable=False)
    secret_sha256 = models.CharField(max_length=64, editable=False)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    expires_at = models.DateTimeField(
        null=True, blank=True, help_text="Blank: it works until it is revoked."
    )
    revoked_at = models.DateTimeField(null=True, blank=True, editable=False)
    last_used_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        verbose_name = "public link"
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return f"{self.name or 'link'} (/s/{self.prefix}_…)"

    @property
    def is_active(self) -> bool:
        is_expired = self.expires_at is not None and self.expires_at <= timezone.now()
        return self.revoked_at is None and not is_expired

    @property
    def state(self) -> str:
        if self.revoked_at is not None:
            return "revoked"
        return "active" if self.is_active else "expired"
