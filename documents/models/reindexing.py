"""Reindexes: a namespace's move from one profile to another."""

import uuid

from django.db import models
from django.db.models.functions import Now

from .indexing import IndexProfile
from .namespaces import Namespace


class Reindex(models.Model):
    """A move to another profile, which is built next to the live one until the namespace's pointer
    is changed.

    building → built ⇄ switched → reclaimed; building | built → cancelled

    While it is open both profiles are kept up to date. What is missing under either is found by
    comparing chunks with live versions, so there is no list of work that could be lost.
    """

    class State(models.TextChoices):
        BUILDING = "building"
        BUILT = "built"
        SWITCHED = "switched"
        RECLAIMED = "reclaimed"
        CANCELLED = "cancelled"

    class Stage(models.TextChoices):
        WAITING = "waiting"
        DOCUMENTS = "documents"
        INDEX = "index"
        WORDS = "words"
        DONE = "done"

    OPEN = (State.BUILDING, State.BUILT, State.SWITCHED)

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    namespace = models.ForeignKey(
        Namespace, on_delete=models.CASCADE, db_index=False, related_name="+"
    )
    profile = models.ForeignKey(
        IndexProfile,
        on_delete=models.CASCADE,
        related_name="+",
        help_text="What the namespace is to be indexed under.",
    )
    replaces = models.ForeignKey(
        IndexProfile, on_delete=models.CASCADE, related_name="+", editable=False
    )
    state = models.CharField(max_length=10, choices=State, default=State.BUILDING)
    stage = models.CharField(max_length=10, choices=Stage, default=Stage.WAITING)
    # Set when a document is published, cleared by the builder when nothing is missing.
    has_work = models.BooleanField(default=True)
    # Documents that could not be indexed under the profile: {version id: {"document_id", "version",
    # "code", "message"}}.
    failures = models.JSONField(default=dict)
    documents_built = models.PositiveIntegerField(default=0)
    chunks_built = models.PositiveIntegerField(default=0)
    seconds_worked = models.FloatField(default=0)
    parity = models.JSONField(null=True)

    attempts = models.PositiveIntegerField(default=0)  # that failed in a row
    run_after = models.DateTimeField(db_default=Now())
    lease_until = models.DateTimeField(null=True)
    lease_token = models.UUIDField(null=True)
    worker = models.CharField(max_length=100, blank=True)
    error_code = models.CharField(max_length=50, blank=True)
    error_message = models.TextField(blank=True)

    created_at = models.DateTimeField(db_default=Now(), editable=False)
    built_at = models.DateTimeField(null=True)
    switched_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name_plural = "reindexes"
        ordering = ["-created_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["namespace"],
                condition=models.Q(state__in=["building", "built", "switched"]),
                name="reindex_one_open",
            )
        ]
        indexes = [
            models.Index(fields=["namespace", "-created_at", "-id"], name="reindex_newest"),
            models.Index(
                fields=["run_after"], condition=models.Q(has_work=True), name="reindex_waiting"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.namespace} to {self.profile} ({self.state})"
