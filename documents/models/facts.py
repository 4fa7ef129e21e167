"""Facts: what holds of a subject, in which period, and how certain it is."""

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
    """Subject, predicate, object: how certain, when it holds, and where it comes from.

    Follows from statements (FactStatement), which are its provenances. Only a fact of a table's row
    has none: its place is a span of the version's text, and it is replaced with the version.
    """

    class Source(models.TextChoices):
        ROW = "row"  # read from a row of a table; replaced with the version
        STATED = "stated"  # by a client, an agent or an operator
        MODEL = "model"  # proposed by a language model from a text

    class Status(models.TextChoices):
        APPROVED = "approved"
        PROPOSED = "proposed"  # waits for somebody to approve it; not found meanwhile
        REJECTED = "rejected"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    namespace = models.ForeignKey(
        Namespace, on_delete=models.CASCADE, db_index=False, related_name="+"
    )
    # Whose memory it is; blank: nobody's in particular. Facts of two users never meet.
    user = models.CharField(
        max_length=200, blank=True, default="", db_default="", db_column="whose"
    )
    subject = models.CharField(max_length=MAX_FACT_NAME)
    predicate = models.CharField(max_length=MAX_FACT_NAME)
    object = models.JSONField()
    # The forms under which they meet (documents/memory/rules/names.py), aliases resolved.
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

    # When it holds in the world: from, inclusive, and to, exclusive; null is open.
    valid_from = models.DateTimeField(null=True)
    valid_to = models.DateTimeField(null=True)
    # When we learnt it, since when we hold it as it stands here, and since when no more.
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
            # The same fact holds once at a time; in another period it may hold again. Rows are
            # kept as their tables have them and are joined when they are read.
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
            # Either a whole place or none; a row always has one.
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
            # What may be asked for, in the order of the list.
            models.Index(fields=["namespace", "subject_key", "id"], name="fact_subject"),
            models.Index(fields=["namespace", "predicate_key", "id"], name="fact_predicate"),
            models.Index(fields=["namespace", "object_key", "id"], name="fact_object"),
            models.Index(fields=["namespace", "document", "id"], name="fact_document"),
            models.Index(fields=["namespace", "subject_key", "predicate_key"], name="fact_slot"),
            models.Index(
                fields=["namespace", "id"], condition=~Q(source="row"), name="fact_stated"
            ),
            GinIndex(fields=["words"], name="fact_words"),
            # For the foreign key: without it each deleted fact would look through all others.
            models.Index(
                fields=["superseded_by"],
                condition=Q(superseded_by__isnull=False),
                name="fact_successor",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.subject} · {self.predicate} · {str(self.object)[:80]}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        """A fact always has its keys; the pipeline gives those that aliases make of its names."""
        if self._state.adding and not self.object_key:
            self.subject_key = name_key(self.subject)
            self.predicate_key = predicate_key(self.predicate)
            self.object_key = object_key(self.object)
        super().save(*args, **kwargs)


class FactState(models.Model):
    """How a fact was believed before it changed: `known_at` reads these."""

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
