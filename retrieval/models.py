"""The query log: one row per query over the API, kept for a limited time."""

import uuid

from django.db import models
from django.db.models.functions import Now

from documents.models import Namespace


class QueryLog(models.Model):
    """A question, figures about its answer and where its hits stand, but no text of any document.

    Kept for QUERY_LOG_DAYS; with 0 nothing is written.
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
        verbose_name_plural = "query log"
        ordering = ["-created_at"]
        constraints = [
            models.UniqueConstraint(fields=["namespace", "id"], name="query_log_in_namespace")
        ]
        indexes = [
            models.Index(fields=["namespace", "-created_at", "-id"], name="query_log_newest")
        ]

    def __str__(self) -> str:
        return self.query[:100]
