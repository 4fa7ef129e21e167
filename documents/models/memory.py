"""What facts are derived from (statements, aliases, rules of predicates), and receipts of
erasures."""

import uuid

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from documents.passages import MAX_FACT_NAME

from .documents import Document, DocumentVersion
from .facts import Fact
from .namespaces import Namespace


class FactStatement(models.Model):
    """A statement of a fact: one of its provenances. Facts are derived from all statements."""

    class Kind(models.TextChoices):
        CLIENT = "client"  # over the API, by an agent or in the admin
        PASSAGE = "passage"  # a span of a document's version
        TURN = "turn"  # of a conversation
        CONFIRMATION = "confirmation"
        CORRECTION = "correction"  # sets certainty by hand

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    namespace = models.ForeignKey(
        Namespace, on_delete=models.CASCADE, db_index=False, related_name="+"
    )
    fact = models.ForeignKey(
        Fact,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        null=True,
        related_name="statements",
    )
    kind = models.CharField(max_length=12, choices=Kind, default=Kind.CLIENT)
    user = models.CharField(max_length=200, blank=True, default="", db_column="whose")
    subject = models.CharField(max_length=MAX_FACT_NAME)
    predicate = models.CharField(max_length=MAX_FACT_NAME)
    object = models.JSONField()
    subject_key = models.CharField(max_length=MAX_FACT_NAME)
    predicate_key = models.CharField(max_length=MAX_FACT_NAME)
    object_key = models.CharField(max_length=32)
    certainty = models.FloatField()
    valid_from = models.DateTimeField(null=True)
    valid_to = models.DateTimeField(null=True)
    stated_at = models.DateTimeField()
    verified_at = models.DateTimeField()
    is_approved = models.BooleanField(default=True)  # null for a proposal
    withdrawn_at = models.DateTimeField(null=True)  # retracted
    source_uri = models.CharField(max_length=2048, blank=True, default="")
    # The client's own id of the statement: sent again, it changes nothing.
    statement_id = models.CharField(max_length=200, blank=True, default="")

    # The place where it is written: version.text[start:end].
    document = models.ForeignKey(
        Document,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        null=True,
        related_name="+",
    )
    version = models.ForeignKey(
        DocumentVersion,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        null=True,
        related_name="+",
    )
    start = models.PositiveIntegerField(null=True)
    end = models.PositiveIntegerField(null=True)
    # The turn in which it was made; ids without a foreign key, because conversations are deleted
    # independently.
    conversation_id = models.UUIDField(null=True)
    turn_id = models.UUIDField(null=True)

    class Meta:
        ordering = ["stated_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["namespace", "statement_id"],
                condition=~Q(statement_id=""),
                name="fact_statement_once",
            ),
            models.CheckConstraint(
                condition=Q(certainty__gte=0, certainty__lte=1),
                name="fact_statement_certainty_is_a_share",
            ),
            models.CheckConstraint(
                condition=Q(valid_to=None) | Q(valid_from=None) | Q(valid_to__gt=F("valid_from")),
                name="fact_statement_validity_forward",
            ),
        ]
        indexes = [
            models.Index(
                fields=["namespace", "subject_key", "predicate_key", "stated_at"],
                name="fact_statement_slot",
            ),
            models.Index(fields=["namespace", "fact", "stated_at"], name="fact_statement_of_fact"),
            models.Index(
                fields=["document"],
                condition=Q(document__isnull=False),
                name="fact_statement_document",
            ),
            models.Index(
                fields=["version"],
                condition=Q(version__isnull=False),
                name="fact_statement_version",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.subject} · {self.predicate} · {str(self.object)[:80]}"


class PredicateRule(models.Model):
    """A namespace's rule for a predicate, which replaces the built-in one."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    namespace = models.ForeignKey(
        Namespace, on_delete=models.CASCADE, db_index=False, related_name="+"
    )
    predicate = models.CharField(max_length=MAX_FACT_NAME)
    predicate_key = models.CharField(max_length=MAX_FACT_NAME, editable=False)
    is_single = models.BooleanField(
        "one value at a time",
        default=False,
        help_text="A new value closes the one before it.",
    )
    half_life_days = models.FloatField(
        null=True,
        blank=True,
        help_text="Days until an unconfirmed fact counts half; empty: never.",
    )
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ["predicate_key"]
        constraints = [
            models.UniqueConstraint(
                fields=["namespace", "predicate_key"], name="predicate_rule_once"
            ),
            models.CheckConstraint(
                condition=Q(half_life_days=None) | Q(half_life_days__gt=0),
                name="predicate_rule_half_life_positive",
            ),
        ]

    def __str__(self) -> str:
        return self.predicate


class FactAlias(models.Model):
    """Another name of a subject, or a synonym of a predicate."""

    class Kind(models.TextChoices):
        SUBJECT = "subject"
        PREDICATE = "predicate"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    namespace = models.ForeignKey(
        Namespace, on_delete=models.CASCADE, db_index=False, related_name="+"
    )
    kind = models.CharField(max_length=10, choices=Kind, default=Kind.SUBJECT)
    alias = models.CharField(max_length=MAX_FACT_NAME)
    alias_key = models.CharField(max_length=MAX_FACT_NAME, editable=False)
    name = models.CharField(max_length=MAX_FACT_NAME, help_text="What it stands for.")
    name_key = models.CharField(max_length=MAX_FACT_NAME, editable=False)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        verbose_name_plural = "fact aliases"
        ordering = ["kind", "alias_key"]
        constraints = [
            models.UniqueConstraint(
                fields=["namespace", "kind", "alias_key"], name="fact_alias_once"
            ),
            models.CheckConstraint(
                condition=~Q(alias_key=F("name_key")), name="fact_alias_of_another"
            ),
        ]
        indexes = [
            models.Index(fields=["namespace", "kind", "name_key"], name="fact_alias_of_name")
        ]

    def __str__(self) -> str:
        return f"{self.alias} = {self.name}"


class FactErasure(models.Model):
    """The receipt of an erasure: when, by whom and how much, but none of the content."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    namespace = models.ForeignKey(
        Namespace, on_delete=models.CASCADE, db_index=False, related_name="+"
    )
    selected_by = models.CharField(max_length=20)  # ids, subject, user or source
    facts = models.PositiveIntegerField()
    statements = models.PositiveIntegerField()
    vectors = models.PositiveIntegerField()
    past_states = models.PositiveIntegerField()
    queries = models.PositiveIntegerField()  # of the query log, and pieces of feedback
    actor_kind = models.CharField(max_length=10)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        verbose_name = "erasure of facts"
        verbose_name_plural = "erasures of facts"
        ordering = ["-created_at", "-id"]
        indexes = [
            models.Index(fields=["namespace", "-created_at", "-id"], name="fact_erasure_newest")
        ]

    def __str__(self) -> str:
        return str(self.pk)
