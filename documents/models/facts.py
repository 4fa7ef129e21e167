"""Facts: what is true of a subject, in which period, and how certain it is."""

import uuid
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now
from pgvector.django import HalfVectorField

from documents.memory.rules.names import name_key, object_key, predicate_key
from documents.passages import MAX_FACT_NAME

from .documents import Document, DocumentVersion
from .indexing import IndexProfile
from .namespaces import Namespace


class Fact(models.Model):
    """Subject, predicate and object, with certainty, validity and origin.

    Follows from statements (FactStatement), which are its provenances. Only a fact from a table's
    row has none: its origin is a span of the version's text, and it is replaced with the version.
    """

    class Source(models.TextChoices):
        ROW = "row"  # read from a row of a table; replaced with the version
        STATED = "stated"  # by a client, an agent or an operator
        MODEL = "model"  # proposed by a language model from a text

    class Status(models.TextChoices):
        APPROVED = "approved"
        PROPOSED = "proposed"  # waits for approval, and is not found until then
        REJECTED = "rejected"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    namespace = models.ForeignKey(
        Namespace, on_delete=models.CASCADE, db_index=False, related_name="+"
    )
    # The user whose memory it belongs to; blank: no particular user. Facts of two users are never
    # combined.
    user = models.CharField(
        max_length=200, blank=True, default="", db_default="", db_column="whose"
    )
    subject = models.CharField(max_length=MAX_FACT_NAME)
    predicate = models.CharField(max_length=MAX_FACT_NAME)
    object = models.JSONField()
    # Normalised names (documents/memory/rules/names.py) with aliases resolved.
    subject_key = models.CharField(max_length=MAX_FACT_NAME, default="", db_default="")
    predicate_key = models.CharField(max_length=MAX_FACT_NAME, default="", db_default="")
    object_key = models.CharField(max_length=32, default="", db_default="")
    certainty = models.FloatField(default=1.0)
    tags = ArrayField(models.CharField(max_length=200), default=list, blank=True)
    source = models.CharField(max_length=10, choices=Source)
    source_uri = models.CharField(max_length=2048, blank=True, default="", db_default="")
    status = models.CharField(
        max_length=10, choices=Status, default=Status.APPROVED, db_default=Status.APPROVED
    )

    # Validity in the world: from inclusive, to exclusive; null is open.
    valid_from = models.DateTimeField(null=True)
    valid_to = models.DateTimeField(null=True)
    # When it was recorded, since when it is believed in this form, and until when.
    recorded_at = models.DateTimeField(db_default=Now(), editable=False)
    believed_since = models.DateTimeField(db_default=Now(), editable=False)
    retracted_at = models.DateTimeField(null=True)
    last_verified_at = models.DateTimeField(db_default=Now(), editable=False)
    confirmations = models.PositiveIntegerField(default=0, db_default=0)
    superseded_by = models.ForeignKey(
        "self",
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        null=True,
        related_name="+",
    )

    # Where the row is written: version.text[start:end].
    document = models.ForeignKey(
        Document,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        null=True,
        related_name="facts",
    )
    version = models.ForeignKey(
        DocumentVersion,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        null=True,
        related_name="+",
    )
    start = models.PositiveIntegerField(null=True)
    end = models.PositiveIntegerField(null=True)
    words = SearchVectorField(null=True)  # of subject, predicate and object

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["namespace", "id"], name="fact_in_namespace"),
            # The same fact is valid once at a time; in another period it may be valid again. Rows
            # are stored as in their tables and merged when they are read.
            models.UniqueConstraint(
                fields=["namespace", "user", "subject_key", "predicate_key", "object_key"],
                condition=Q(status="approved", retracted_at=None, valid_to=None) & ~Q(source="row"),
                name="fact_holds_once",
            ),
            models.CheckConstraint(
                condition=Q(certainty__gte=0, certainty__lte=1), name="fact_certainty_is_a_share"
            ),
            models.CheckConstraint(
                condition=Q(valid_to=None) | Q(valid_from=None) | Q(valid_to__gt=F("valid_from")),
                name="fact_validity_forward",
            ),
            models.CheckConstraint(
                condition=Q(superseded_by=None) | Q(retracted_at__isnull=False),
                name="fact_superseded_is_retracted",
            ),
            # Either a complete place or none; a row always has one.
            models.CheckConstraint(
                condition=Q(
                    document__isnull=False,
                    version__isnull=False,
                    start__isnull=False,
                    end__isnull=False,
                    end__gt=F("start"),
                )
                | Q(document=None, version=None, start=None, end=None) & ~Q(source="row"),
                name="fact_place_is_whole",
            ),
        ]
        indexes = [
            # The possible filters, in the order of the list.
            models.Index(fields=["namespace", "subject_key", "id"], name="fact_subject"),
            models.Index(fields=["namespace", "predicate_key", "id"], name="fact_predicate"),
            models.Index(fields=["namespace", "object_key", "id"], name="fact_object"),
            models.Index(fields=["namespace", "document", "id"], name="fact_document"),
            models.Index(fields=["namespace", "subject_key", "predicate_key"], name="fact_slot"),
            models.Index(
                fields=["namespace", "id"], condition=~Q(source="row"), name="fact_stated"
            ),
            GinIndex(fields=["words"], name="fact_words"),
            # For the foreign key: without it each deleted fact would scan all others.
            models.Index(
                fields=["superseded_by"],
                condition=Q(superseded_by__isnull=False),
                name="fact_successor",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.subject} · {self.predicate} · {str(self.object)[:80]}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Set the keys if they are missing; the pipeline sets those that result from aliases."""
        if self._state.adding and not self.object_key:
            self.subject_key = name_key(self.subject)
            self.predicate_key = predicate_key(self.predicate)
            self.object_key = object_key(self.object)
        super().save(*args, **kwargs)


class FactState(models.Model):
    """A former state of a fact, which is read for `known_at`."""

    id = models.BigAutoField(primary_key=True)
    namespace = models.ForeignKey(
        Namespace, on_delete=models.CASCADE, db_index=False, related_name="+"
    )
    fact = models.ForeignKey(
        Fact,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        related_name="past_states",
    )
    valid_from = models.DateTimeField(null=True)
    valid_to = models.DateTimeField(null=True)
    certainty = models.FloatField()
    last_verified_at = models.DateTimeField()
    confirmations = models.PositiveIntegerField()
    believed_from = models.DateTimeField()
    believed_to = models.DateTimeField()

    class Meta:
        indexes = [
            models.Index(fields=["namespace", "fact", "believed_from"], name="fact_state_of_fact")
        ]

    def __str__(self) -> str:
        return f"{self.fact_id} until {self.believed_to}"


class FactVector(models.Model):
    """A fact's vector under one index profile; never compared with those of another."""

    id = models.BigAutoField(primary_key=True)
    namespace = models.ForeignKey(
        Namespace, on_delete=models.CASCADE, db_index=False, related_name="+"
    )
    fact = models.ForeignKey(
        Fact,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        related_name="vectors",
    )
    profile = models.ForeignKey(
        IndexProfile, on_delete=models.CASCADE, db_index=False, related_name="+"
    )
    embedding = HalfVectorField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["namespace", "profile", "fact"], name="fact_vector_once"
            )
        ]
        indexes = [
            models.Index(fields=["namespace", "fact"], name="fact_vector_of_fact"),
            models.Index(fields=["profile"], name="fact_vector_of_profile"),
        ]

    def __str__(self) -> str:
        return f"{self.fact_id} under {self.profile_id}"
