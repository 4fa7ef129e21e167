"""Evaluation runs: one configuration on one golden set, and the score of each query."""

import uuid

from django.db import models
from django.db.models.functions import Now

from documents.models import Namespace

from .golden import GoldenQuery, GoldenSet


class EvaluationRun(models.Model):
    """One evaluation of one configuration on one golden set.

    queued → running → succeeded | failed | cancelled. While it runs, its lease is renewed with
    every query; when the lease runs out, another worker continues where this one stopped.
    """

    class State(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        SUCCEEDED = "succeeded"
        FAILED = "failed"
        CANCELLED = "cancelled"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    namespace = models.ForeignKey(
        Namespace, on_delete=models.CASCADE, db_index=False, related_name="+"
    )
    golden_set = models.ForeignKey(
        GoldenSet, on_delete=models.DO_NOTHING, db_constraint=False, related_name="runs"
    )
    label = models.CharField(max_length=200, blank=True)
    state = models.CharField(max_length=10, choices=State, default=State.QUEUED)
    # Options as requested; configuration as used: settings, profile, model, content.
    options = models.JSONField(default=dict)
    configuration = models.JSONField(default=dict)
    code_version = models.CharField(max_length=100, blank=True)
    queries_total = models.PositiveIntegerField(default=0)
    queries_done = models.PositiveIntegerField(default=0)
    # measure → {"mean", "low", "high"}; answer@context also has "queries", the number with it
    metrics = models.JSONField(default=dict)
    latency_ms = models.JSONField(default=dict)  # stage → {"p50", "p95", "p99", "mean"}
    tokens = models.JSONField(default=dict)  # tokens of the context: {"mean", "p95", "total"}
    warnings = models.JSONField(default=list)
    attempts = models.PositiveIntegerField(default=0)
    lease_until = models.DateTimeField(null=True)
    lease_token = models.UUIDField(null=True)
    error_code = models.CharField(max_length=50, blank=True)
    error_message = models.TextField(blank=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-created_at"]
        constraints = [
            models.UniqueConstraint(fields=["namespace", "id"], name="evaluation_in_namespace")
        ]
        indexes = [
            models.Index(fields=["namespace", "-created_at", "-id"], name="evaluation_newest"),
            models.Index(
                fields=["created_at"],
                condition=models.Q(state__in=["queued", "running"]),
                name="evaluation_open",
            ),
        ]

    def __str__(self) -> str:
        return self.label or f"run of {self.created_at:%Y-%m-%d %H:%M}"


class QueryScore(models.Model):
    """The results of one query of a run: ids, positions and figures, without any document text."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    namespace = models.ForeignKey(
        Namespace, on_delete=models.CASCADE, db_index=False, related_name="+"
    )
    run = models.ForeignKey(
        EvaluationRun,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        related_name="scores",
    )
    # Null once the query is deleted; the run is unchanged.
    query = models.ForeignKey(
        GoldenQuery, on_delete=models.DO_NOTHING, db_constraint=False, null=True, related_name="+"
    )
    ordinal = models.PositiveIntegerField()
    text = models.TextField()
    metrics = models.JSONField(default=dict)  # measure → value
    # The judged answers with grade and rank at every stage.
    judged = models.JSONField(default=list)
    # The results, best first, with rank and score at every stage.
    ranking = models.JSONField(default=list)
    times_ms = models.JSONField(default=dict)
    tokens = models.PositiveIntegerField(default=0)
    fallbacks = models.JSONField(default=list)

    class Meta:
        ordering = ["ordinal"]
        constraints = [
            models.UniqueConstraint(fields=["run", "ordinal"], name="query_score_once"),
        ]
        indexes = [models.Index(fields=["namespace", "run"], name="query_score_of_run")]

    def __str__(self) -> str:
        return self.text[:100]
