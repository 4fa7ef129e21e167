"""Golden sets, their queries, and judgements of what answers them."""

import uuid

from django.contrib.postgres.fields import ArrayField
from django.core.validators import MaxValueValidator
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import MD5, Coalesce, Now
from django.utils import timezone

from documents.models import Document, Namespace

MAX_PART = 100  # parts of one answer
HIGHEST_GRADE = 10  # the admin offers 0 to 3; published collections have other scales


class GoldenSet(models.Model):
    """Questions with known answers, for measuring a namespace's searches."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    namespace = models.ForeignKey(
        Namespace, on_delete=models.CASCADE, db_index=False, related_name="golden_sets"
    )
    name = models.CharField(max_length=200)
    description = models.TextField(blank=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    updated_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(fields=["namespace", "name"], name="golden_set_once"),
            models.UniqueConstraint(fields=["namespace", "id"], name="golden_set_in_namespace"),
        ]

    def __str__(self) -> str:
        return self.name


class GoldenQuery(models.Model):
    """A question as a user would ask it. Without a judgement above 0 it measures nothing."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    namespace = models.ForeignKey(
        Namespace, on_delete=models.CASCADE, db_index=False, related_name="+"
    )
    golden_set = models.ForeignKey(
        GoldenSet,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        related_name="queries",
    )
    external_id = models.CharField(
        max_length=200, blank=True, help_text="The question's id in the file it was imported from."
    )
    text = models.TextField()
    filters = models.JSONField(default=dict, blank=True, help_text="Filters, as in POST /query.")
    tags = ArrayField(models.TextField(), default=list, blank=True)
    notes = models.TextField(blank=True)
    # Not the database's clock, which returns the same time throughout an import's transaction.
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        verbose_name_plural = "golden queries"
        ordering = ["created_at", "id"]
        constraints = [
            models.UniqueConstraint(fields=["namespace", "id"], name="golden_query_in_namespace"),
            # By its hash, because a btree entry cannot hold a long question.
            models.UniqueConstraint("golden_set", MD5("text"), name="golden_query_once"),
            models.UniqueConstraint(
                fields=["golden_set", "external_id"],
                condition=~Q(external_id=""),
                name="golden_query_external_once",
            ),
        ]
        indexes = [
            models.Index(
                fields=["namespace", "golden_set", "created_at", "id"], name="golden_query_order"
            )
        ]

    def __str__(self) -> str:
        return self.text[:100]


class Judgement(models.Model):
    """How well a document, or a span of its text, answers a query: 0 is not at all.

    It refers to the document by source_uri and to the span by characters, never to a chunk, so it
    is independent of chunking. `quote` is the text of the span, by which it is found in later
    versions.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    namespace = models.ForeignKey(
        Namespace, on_delete=models.CASCADE, db_index=False, related_name="+"
    )
    query = models.ForeignKey(
        GoldenQuery,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        related_name="judgements",
    )
    source_uri = models.TextField()
    # Null without such a document: a published collection may judge documents it does not contain.
    # Deleted with the document, because it quotes it.
    document = models.ForeignKey(
        Document,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        null=True,
        blank=True,
        related_name="+",
    )
    start = models.PositiveIntegerField(null=True, blank=True)
    end = models.PositiveIntegerField(null=True, blank=True)
    quote = models.TextField(blank=True, help_text="The judged text; blank: the whole document.")
    grade = models.PositiveSmallIntegerField(
        default=1,
        validators=[MaxValueValidator(HIGHEST_GRADE)],
        help_text="0: does not answer. 1: on the subject. 2: answers in part. 3: answers.",
    )
    # Not every judged text is the whole answer: answers.py requires one of each part.
    part = models.PositiveSmallIntegerField(
        default=0,
        db_default=0,
        validators=[MaxValueValidator(MAX_PART)],
        help_text="Part of the answer. Texts of one part are alternatives: "
        "the context needs one of them.",
    )
    is_hard_negative = models.BooleanField(
        default=False, help_text="Looks right but is not. Exported to train rerankers."
    )
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ["-grade", "id"]
        constraints = [
            models.UniqueConstraint(
                "query",
                MD5("source_uri"),
                Coalesce(F("start"), -1),
                Coalesce(F("end"), -1),
                name="judgement_once",
            ),
            models.CheckConstraint(
                condition=Q(start=None, end=None, quote="")
                | Q(start__isnull=False, end__isnull=False, end__gt=F("start")) & ~Q(quote=""),
                name="judgement_span_is_whole",
            ),
            models.CheckConstraint(
                condition=Q(grade__lte=HIGHEST_GRADE), name="judgement_grade_bounded"
            ),
            models.CheckConstraint(
                condition=Q(is_hard_negative=False) | Q(grade=0), name="judgement_negative_is_zero"
            ),
        ]
        indexes = [models.Index(fields=["namespace", "query"], name="judgement_of_query")]

    def __str__(self) -> str:
        return f"{self.grade}: {self.quote[:60] or self.source_uri}"
