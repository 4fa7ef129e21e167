"""The words of chunks, which the lexical leg searches, and the frequency of each word."""

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.db import models
from django.db.models.functions import Now
from pgvector.django import SparseVectorField

from .indexing import Chunk, IndexProfile


class ChunkTerms(models.Model):
    """The words of a chunk.

    They are in a separate table because thousands of these rows are scored for one question: the
    rows must be narrow, without text and vector. `impacts` is BM25 without its IDF: the weight of
    each word in this chunk, independent of other chunks. The IDF comes with the question, so
    statistics can change without updating rows.
    """

    chunk = models.OneToOneField(
        Chunk, primary_key=True, on_delete=models.DO_NOTHING, db_constraint=False, related_name="+"
    )
    namespace = models.ForeignKey(
        "documents.Namespace", on_delete=models.CASCADE, db_index=False, related_name="+"
    )
    profile = models.ForeignKey(
        IndexProfile, on_delete=models.PROTECT, db_index=False, related_name="+"
    )
    document = models.ForeignKey(
        "documents.Document", on_delete=models.DO_NOTHING, db_constraint=False, related_name="+"
    )
    kind = models.CharField(max_length=10, choices=Chunk.Kind)
    # Namespace and profile as one value, in an array because a GIN index supports that without an
    # extension. So one index finds a tenant's words without scanning those of other tenants.
    place = ArrayField(models.UUIDField())
    # A hash of its words in order, which is the same for chunks with the same words.
    words_hash = models.BigIntegerField()
    search_vector = SearchVectorField()
    impacts = SparseVectorField()

    class Meta:
        verbose_name_plural = "chunk terms"
        indexes = [
            GinIndex(
                fields=["search_vector", "place"], name="chunk_words", gin_pending_list_limit=512
            ),
            models.Index(fields=["namespace", "profile"], name="terms_of_profile"),
        ]

    def __str__(self) -> str:
        return str(self.chunk_id)


class TermStatistics(models.Model):
    """When the words of a namespace were last counted, and how many chunks there were."""

    id = models.BigAutoField(primary_key=True)
    namespace = models.ForeignKey(
        "documents.Namespace", on_delete=models.CASCADE, db_index=False, related_name="+"
    )
    profile = models.ForeignKey(
        IndexProfile, on_delete=models.CASCADE, db_index=False, related_name="+"
    )
    chunks = models.BigIntegerField()
    # The text search configurations under which its documents were indexed, with the approximate
    # number of chunks.
    configurations = models.JSONField()
    revision = models.BigIntegerField()  # the namespace's revision when counted
    counted_at = models.DateTimeField(db_default=Now())

    class Meta:
        verbose_name_plural = "term statistics"
        constraints = [
            models.UniqueConstraint(fields=["namespace", "profile"], name="statistics_once")
        ]

    def __str__(self) -> str:
        return f"{self.chunks} chunks"


class TermFrequency(models.Model):
    """The number of a namespace's chunks that contain a word. Per namespace, because shared counts
    would reveal to one tenant which words another uses."""

    id = models.BigAutoField(primary_key=True)
    namespace = models.ForeignKey(
        "documents.Namespace", on_delete=models.CASCADE, db_index=False, related_name="+"
    )
    profile = models.ForeignKey(
        IndexProfile, on_delete=models.CASCADE, db_index=False, related_name="+"
    )
    lexeme = models.TextField(db_collation="C")  # so that the index also finds prefixes
    chunks = models.IntegerField()

    class Meta:
        verbose_name_plural = "term frequencies"
        constraints = [
            models.UniqueConstraint(
                fields=["namespace", "profile", "lexeme"], name="frequency_once"
            )
        ]

    def __str__(self) -> str:
        return self.lexeme
