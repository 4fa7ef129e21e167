"""Feedback on an answer: which passages were selected, and whether it was useful."""

import uuid

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now
from pgvector.django import HalfVectorField

from documents.models import Document, IndexProfile, Namespace
from retrieval.models import QueryLog


class Feedback(models.Model):
    """One piece of feedback on a question, which may have several, such as one per click.

    It contains the question itself and outlives the query log, because golden sets are made from
    it.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    namespace = models.ForeignKey(
        Namespace, on_delete=models.CASCADE, db_index=False, related_name="+"
    )
    # Null if the question was sent instead, and once the log entry is deleted.
    query_log = models.ForeignKey(
        QueryLog,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        null=True,
        related_name="feedback",
        verbose_name="line of the query log",
    )
    query = models.TextField()
    filters = models.JSONField(default=dict, help_text="Filters, as in POST /query.")
    # As submitted. Chunks may be replaced, so their text is kept in SelectedPassage.
    selected_chunk_ids = ArrayField(models.UUIDField(), default=list)
    useful = models.BooleanField(null=True, help_text="Empty if the user did not say.")
    comment = models.TextField(blank=True)
    request_id = models.CharField(max_length=128, blank=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        verbose_name_plural = "feedback"
        ordering = ["-created_at"]
        constraints = [
            models.UniqueConstraint(fields=["namespace", "id"], name="feedback_in_namespace"),
            models.CheckConstraint(
                condition=Q(useful__isnull=False) | ~Q(comment="") | ~Q(selected_chunk_ids=[]),
                name="feedback_says_something",
            ),
        ]
        indexes = [
            models.Index(fields=["namespace", "-created_at", "-id"], name="feedback_newest"),
            models.Index(fields=["namespace", "query_log"], name="feedback_of_query"),
        ]

    def __str__(self) -> str:
        return self.query[:100]


class SelectedPassage(models.Model):
    """A selected chunk, identified by document, position and text, like a judgement. Deleted with
    its document, because it quotes it."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    namespace = models.ForeignKey(
        Namespace, on_delete=models.CASCADE, db_index=False, related_name="+"
    )
    feedback = models.ForeignKey(
        Feedback,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        related_name="selected",
    )
    chunk_id = models.UUIDField()
    document = models.ForeignKey(
        Document, on_delete=models.DO_NOTHING, db_constraint=False, related_name="+"
    )
    start = models.PositiveIntegerField()
    end = models.PositiveIntegerField()
    quote = models.TextField()

    class Meta:
        ordering = ["start", "id"]
        constraints = [
            models.UniqueConstraint(fields=["feedback", "chunk_id"], name="selected_once"),
            models.CheckConstraint(condition=Q(end__gt=F("start")), name="selected_span_forward"),
        ]
        indexes = [models.Index(fields=["namespace", "feedback"], name="selected_of_feedback")]

    def __str__(self) -> str:
        return self.quote[:100]


class FeedbackVector(models.Model):
    """The vector of a feedback's question under one index profile: it finds similar questions."""

    id = models.BigAutoField(primary_key=True)
    namespace = models.ForeignKey(
        Namespace, on_delete=models.CASCADE, db_index=False, related_name="+"
    )
    feedback = models.ForeignKey(
        Feedback,
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
                fields=["namespace", "profile", "feedback"], name="feedback_vector_once"
            )
        ]
        indexes = [
            models.Index(fields=["namespace", "feedback"], name="feedback_vector_of_feedback"),
            models.Index(fields=["profile"], name="feedback_vector_of_profile"),
        ]

    def __str__(self) -> str:
        return str(self.feedback_id)
