"""The query log, kept for a limited time, and the models of the reranker `learned`."""

import uuid

from django.db import models
from django.db.models.functions import Now

from documents.models import Namespace


class QueryLog(models.Model):
    """A question, figures about its results and their positions, but no document text. Kept for
    QUERY_LOG_DAYS; with 0 nothing is written.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    namespace = models.ForeignKey(
        Namespace, on_delete=models.CASCADE, db_index=False, related_name="+"
    )
    request_id = models.CharField(max_length=128, blank=True)
    query = models.TextField()
    filters = models.JSONField(default=dict)
    # k, mode, fusion, reranker; under "changed" the other options that are not the defaults
    options = models.JSONField(default=dict)
    hits = models.PositiveIntegerField()
    # The first hits: [{"document", "chunk", "start", "end", "relevance"}]; null in rows from
    # before this was kept.
    returned = models.JSONField(null=True)
    relevance = models.FloatField(null=True)  # of the best hit
    # Of the best hit: cosine similarity and BM25 are comparable between queries, fused scores are
    # not.
    best_vector = models.FloatField(null=True)
    best_lexical = models.FloatField(null=True)
    cache = models.CharField(max_length=10)
    fallbacks = models.JSONField(default=list)
    times_ms = models.JSONField(default=dict)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        verbose_name = "logged question"
        verbose_name_plural = "query log"
        ordering = ["-created_at"]
        constraints = [
            models.UniqueConstraint(fields=["namespace", "id"], name="query_log_in_namespace")
        ]
        indexes = [
            models.Index(fields=["namespace", "-created_at", "-id"], name="query_log_newest"),
            # Operators' list, which spans all namespaces.
            models.Index(fields=["-created_at", "-id"], name="query_log_newest_of_all"),
        ]

    def __str__(self) -> str:
        return self.query[:100]


class LearnedModel(models.Model):
    """The linear model of a namespace's reranker `learned`; numbers only, and no text."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    namespace = models.OneToOneField(Namespace, on_delete=models.CASCADE, related_name="+")
    # {"features", "weights", "means", "scales"}
    model = models.JSONField()
    # Of held-out questions: {"fused", "learned", "gain", "low", "high", "p_value", "questions", …}
    metrics = models.JSONField()
    training = models.JSONField()  # {"golden_set", "questions", "pairs", "l2", "sha256"}
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return f"learned on {self.training.get('questions', 0)} questions"
