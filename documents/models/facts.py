"""Facts: single statements from documents."""

import uuid

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import MD5, Now
from pgvector.django import VectorField

from documents.passages import MAX_FACT_NAME

from .documents import Document, DocumentVersion
from .namespaces import Namespace


class Fact(models.Model):
    """Subject, predicate, object: how certain, when it holds, and where it is written.

    Its place is a span of the version's text and no chunk, because spans survive re-chunking.
    """

    class Source(models.TextChoices):
        ROW = "row"  # read from a row of a table; replaced with the version
        STATED = "stated"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    namespace = models.ForeignKey(
        Namespace, on_delete=models.CASCADE, db_index=False, related_name="+"
    )
    subject = models.CharField(max_length=MAX_FACT_NAME)
    predicate = models.CharField(max_length=MAX_FACT_NAME)
    object = models.TextField()
    certainty = models.FloatField(default=1.0)
    source = models.CharField(max_length=10, choices=Source)

    # When it holds in the world: from, inclusive, and to, exclusive; null is open.
    valid_from = models.DateTimeField(null=True)
    valid_to = models.DateTimeField(null=True)
    # When we learnt it, and since when we hold it no more.
    recorded_at = models.DateTimeField(db_default=Now(), editable=False)
    retracted_at = models.DateTimeField(null=True)
    superseded_by = models.ForeignKey(
        "self",
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        null=True,
        related_name="+",
    )

    # Where it is written: version.text[start:end].
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
    embedding = VectorField(null=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["namespace", "id"], name="fact_in_namespace"),
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
            models.Index(fields=["namespace", "subject", "id"], name="fact_subject"),
            models.Index(fields=["namespace", "predicate", "id"], name="fact_predicate"),
            # By its hash: a btree entry cannot hold a long cell.
            models.Index("namespace", MD5("object"), "id", name="fact_object"),
            models.Index(fields=["namespace", "document", "id"], name="fact_document"),
            # For the foreign key: without it each deleted fact would look through all others.
            models.Index(
                fields=["superseded_by"],
                condition=Q(superseded_by__isnull=False),
                name="fact_successor",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.subject} · {self.predicate} · {self.object[:80]}"
