"""Tenants: namespaces, the API keys that open them, and public links for asking without a key."""

import uuid

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.db.models.functions import Now
from django.utils import timezone

from ragsite.access.rate_limits import checked_limits

from .indexing import DEFAULT_PROFILE_ID, IndexProfile

QUOTA_HELP = "Blank: the installation's own quota. 0: none."


def validate_limits(limits: object) -> None:
    try:
        checked_limits(limits)
    except ValueError as error:
        raise ValidationError(str(error)) from None


def validate_answer_model(alias: str) -> None:
    if alias not in settings.LANGUAGE_MODELS:
        available = ", ".join(sorted(settings.LANGUAGE_MODELS))
        raise ValidationError(f"There is no language model {alias!r}; there are {available}.")


class Namespace(models.Model):
    """The boundary between tenants: every row with a tenant's content belongs to exactly one."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    slug = models.CharField(
        max_length=63,
        unique=True,
        validators=[
            RegexValidator(
                r"^[a-z0-9]([a-z0-9-]*[a-z0-9])?\Z",
                "Use lowercase letters, digits and inner hyphens.",
            )
        ],
    )
    name = models.CharField(max_length=200, blank=True)
    active_profile = models.ForeignKey(
        IndexProfile, on_delete=models.PROTECT, default=DEFAULT_PROFILE_ID, related_name="+"
    )
    language = models.CharField(
        max_length=8,
        blank=True,
        validators=[RegexValidator(r"^[a-z]{2}\Z", "Use two lowercase letters, e.g. de.")],
        help_text="ISO 639-1 code of what its documents are written in, e.g. de. "
        "Blank: found out for each document.",
    )
    answer_model = models.CharField(
        max_length=50,
        blank=True,
        validators=[validate_answer_model],
        help_text="Which language model writes its answers. Blank: the installation's default.",
    )
    answer_prompt = models.TextField(
        blank=True,
        max_length=20_000,
        help_text="Added to the rules of every answer, e.g. who is asking and what tone to take.",
    )
    answer_language = models.CharField(
        max_length=8,
        blank=True,
        validators=[RegexValidator(r"^[a-z]{2}\Z", "Use two lowercase letters, e.g. de.")],
        help_text="ISO 639-1 code of the language to answer in. Blank: the question's own.",
    )
    answer_min_relevance = models.FloatField(
        null=True,
        blank=True,
        validators=[MinValueValidator(0.0), MaxValueValidator(1.0)],
        help_text="How relevant the best passage must be, 0 to 1, for an answer to be tried. "
        "Blank: the installation's default.",
    )
    # Increased with every change of content, so that caches keyed by it are never stale.
    revision = models.BigIntegerField(default=0, editable=False)
    # Number of searchable chunks, stored here because counting them at query time would be slow.
    chunk_count = models.BigIntegerField(default=0, editable=False)
    max_documents = models.PositiveBigIntegerField(null=True, blank=True, help_text=QUOTA_HELP)
    max_bytes = models.PositiveBigIntegerField(
        null=True,
        blank=True,
        help_text=f"Of the stored originals of all versions. {QUOTA_HELP}",
    )
    max_chunks = models.PositiveBigIntegerField(null=True, blank=True, help_text=QUOTA_HELP)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    # Set once: from then on keys do not open it, and its rows are being deleted.
    deleting_since = models.DateTimeField(null=True, editable=False)

    class Meta:
        ordering = ["slug"]
        permissions = [("see_every_namespace", "Sees every namespace, also those added later")]

    def __str__(self) -> str:
        return self.slug


class NamespaceUsage(models.Model):
    """What a namespace contains, for its quotas.

    Maintained by triggers on documents and versions, which see every row that is added or deleted
    by any code. Chunks are counted in Namespace.chunk_count.
    """

    namespace = models.OneToOneField(
        Namespace, on_delete=models.CASCADE, primary_key=True, related_name="usage"
    )
    documents = models.BigIntegerField(default=0)
    bytes = models.BigIntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.documents} documents, {self.bytes} bytes"


class ApiKey(models.Model):
    """A credential for one namespace. Only the secret's hash is stored; it is shown once."""

    class Scope(models.TextChoices):
        READ = "read"
        WRITE = "write"
        ADMIN = "admin"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    namespace = models.ForeignKey(Namespace, on_delete=models.CASCADE, related_name="api_keys")
    name = models.CharField(max_length=200, blank=True)
    prefix = models.CharField(max_length=16, unique=True, editable=False)
    secret_sha256 = models.CharField(max_length=64, editable=False)
    scopes = ArrayField(models.CharField(max_length=10, choices=Scope.choices))
    limits = models.JSONField(
        default=dict,
        blank=True,
        validators=[validate_limits],
        help_text="Requests a minute by class where they differ from the installation's, e.g. "
        '{"search": 600, "ingest": 0}; 0: no limit.',
    )
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        verbose_name = "API key"
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return f"{self.name or 'key'} (rs_{self.prefix}_…)"

    @property
    def is_active(self) -> bool:
        is_expired = self.expires_at is not None and self.expires_at <= timezone.now()
        return self.revoked_at is None and not is_expired


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
