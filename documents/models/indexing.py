"""Index profiles, chunks with their vectors, and the cache of computed vectors."""

import uuid

from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models.functions import Now
from pgvector.django import HalfVectorField, VectorField

from documents.chunking.methods import chunking_errors
from documents.profiles.ann_methods import MAX_DIMENSIONS, ann_errors

# Fixed, because the migration that creates the default profile also creates its vector index.
DEFAULT_PROFILE_ID = uuid.UUID("5f0b7d5e-6c1a-5b8e-9d5c-2f4d3c1b0a01")

PGVECTOR = "pgvector"  # the store that is this database

# Version of the code that reads and splits files; increased when the same file would give other
# chunks.
INGESTION_VERSION = 2


class IndexProfile(models.Model):
    """Everything that determines chunks and vectors. Immutable once used.

    Its vectors have their own partial index over embedding::halfvec(dimensions), so several models
    and chunk sizes can exist side by side.
    """

    class Chunker(models.TextChoices):
        STRUCTURE = "structure"
        FIXED = "fixed"
        SEMANTIC = "semantic"
        LLM = "llm"

    class Ann(models.TextChoices):
        HNSW = "hnsw"
        BIT = "bit"
        IVFFLAT = "ivfflat"
        EXACT = "exact"
        SCANN = "scann"
        VCHORDRQ = "vchordrq"
        DISKANN = "diskann"  # withdrawn

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.SlugField()
    # No constraint in the database: a profile that other namespaces use outlives its own namespace.
    # Unused profiles are deleted later (documents/profiles/deletion.py).
    namespace = models.ForeignKey(
        "documents.Namespace",
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        null=True,
        blank=True,
        related_name="+",
        help_text="Only this namespace sees it; left empty, all of them do.",
    )
    chunker = models.CharField(
        max_length=10,
        choices=Chunker,
        default=Chunker.STRUCTURE,
        help_text="Where chunks end: structure (paragraphs and sentences), fixed (a number of "
        "characters), semantic (turns of meaning; every sentence is embedded for it) or llm (a "
        "language model names the sentences at which a topic begins).",
    )
    chunker_options = models.JSONField(
        default=dict, blank=True, help_text='Of semantic: {"percentile": 1 to 99}.'
    )
    chunk_size = models.PositiveIntegerField(
        help_text="Tokens a chunk aims for; characters with the fixed chunker."
    )
    chunk_overlap = models.PositiveIntegerField(
        help_text="Repeated from the chunk before, in the same unit; 0 with the semantic and "
        "llm chunkers."
    )
    contextual_header = models.BooleanField(
        default=False,
        help_text="Embed title and section path above each chunk. Its content stays verbatim.",
    )
    embedder = models.CharField(max_length=50, help_text="An alias in settings.EMBEDDERS.")
    # Set at the first use; afterwards no other model may embed for this profile.
    model_identity = models.TextField(blank=True, editable=False)
    dimensions = models.PositiveIntegerField(
        validators=[MinValueValidator(1), MaxValueValidator(MAX_DIMENSIONS)]
    )
    ann_method = models.CharField(
        "ANN method",
        max_length=10,
        choices=Ann,
        default=Ann.HNSW,
        help_text="How near vectors are found: hnsw, bit (hnsw over one bit for each number, for "
        "less memory), ivfflat, or exact (no index); scann and vchordrq, both untested, where the "
        "server has their extension. diskann is withdrawn.",
    )
    ann_options = models.JSONField(
        "ANN options",
        default=dict,
        blank=True,
        help_text='Of hnsw: {"m": 16, "ef_construction": 64}; of bit also {"rescore": 8}. Of '
        'ivfflat: {"lists": …, "probes": …}, chosen by the number of rows where not named.',
    )
    store = models.CharField(
        max_length=50,
        default=PGVECTOR,
        db_default=PGVECTOR,
        help_text="Where searches find chunks: pgvector (this database), or an alias in "
        "settings.STORES, such as qdrant.",
    )
    store_options = models.JSONField(
        default=dict,
        db_default=models.Value({}, models.JSONField()),
        blank=True,
        help_text='Of qdrant: {"quantization": "int8", "shards": 1, "replicas": 1, "m": 16, '
        '"ef_construct": 100, "on_disk": "none", "sharding": "none"}.',
    )
    # Of what its store has confirmed (documents/stores/marks.py); 0 until then.
    store_mark = models.PositiveBigIntegerField(default=0, db_default=0, editable=False)
    # Properties of the built vector index that a query needs (ivfflat: lists).
    index_facts = models.JSONField(default=dict, editable=False)
    ingestion_version = models.PositiveIntegerField(default=INGESTION_VERSION)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ["created_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["namespace", "name"], nulls_distinct=False, name="profile_name_once"
            )
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_stored_outside(self) -> bool:
        return self.store != PGVECTOR

    def clean(self) -> None:
        wrong = chunking_errors(
            self.chunker,
            size=self.chunk_size,
            overlap=self.chunk_overlap,
            options=self.chunker_options,
        )
        if sentence := ann_errors(self.ann_method, self.ann_options):
            wrong["ann_options"] = sentence
        if wrong:
            raise ValidationError(wrong)


class Chunk(models.Model):
    """A searchable passage of a live version: version.text[start:end] == content, always.

    Rows are written once and deleted when superseded. Values that change often are stored
    elsewhere, because every update would add an entry to the vector index.
    """

    class Kind(models.TextChoices):
        TEXT = "text"
        CODE = "code"
        TABLE = "table"
        IMAGE = "image"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    namespace = models.ForeignKey(
        "documents.Namespace", on_delete=models.CASCADE, db_index=False, related_name="+"
    )
    profile = models.ForeignKey(
        IndexProfile, on_delete=models.PROTECT, db_index=False, related_name="+"
    )
    document = models.ForeignKey(
        "documents.Document",
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        related_name="chunks",
    )
    version = models.ForeignKey(
        "documents.DocumentVersion",
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        related_name="chunks",
    )
    ordinal = models.PositiveIntegerField()
    kind = models.CharField(max_length=10, choices=Kind, default=Kind.TEXT)
    content = models.TextField()
    tokens = models.PositiveIntegerField()
    section = models.TextField(blank=True)
    start = models.PositiveIntegerField()
    end = models.PositiveIntegerField()
    page_start = models.PositiveIntegerField(null=True)
    page_end = models.PositiveIntegerField(null=True)
    metadata = models.JSONField(default=dict)
    chunk_hash = models.CharField(max_length=64)
    # Without fixed dimensions, which depend on the profile. Half precision makes no visible
    # difference (docs/decisions/0015-retrieval.md) and keeps the row on its page.
    embedding = HalfVectorField()

    class Meta:
        ordering = ["ordinal"]
        constraints = [
            models.UniqueConstraint(
                fields=["version", "profile", "ordinal"], name="chunk_ordinal_once"
            ),
            models.CheckConstraint(
                condition=models.Q(end__gt=models.F("start")), name="chunk_span_forward"
            ),
        ]
        indexes = [
            models.Index(fields=["namespace", "profile", "kind"], name="chunk_of_profile"),
        ]

    def __str__(self) -> str:
        return f"{self.document_id} #{self.ordinal}"


class EmbeddingCache(models.Model):
    """A vector that was already computed. Stored per namespace: with a shared cache, response times
    would reveal another tenant's texts."""

    id = models.BigAutoField(primary_key=True)
    namespace = models.ForeignKey(
        "documents.Namespace", on_delete=models.CASCADE, db_index=False, related_name="+"
    )
    # The first document with this text; the vector is deleted with it.
    document = models.ForeignKey(
        "documents.Document", on_delete=models.DO_NOTHING, db_constraint=False, related_name="+"
    )
    model_identity = models.TextField()
    text_sha256 = models.BinaryField(max_length=32)
    embedding = VectorField()
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        verbose_name = "cached embedding"
        constraints = [
            models.UniqueConstraint(
                fields=["namespace", "model_identity", "text_sha256"], name="embedding_once"
            )
        ]
        indexes = [models.Index(fields=["namespace", "created_at"], name="embedding_age")]

    def __str__(self) -> str:
        return f"{self.model_identity} {bytes(self.text_sha256).hex()[:12]}"


class StoreChange(models.Model):
    """A document whose chunks under a profile may differ from those in the profile's store.

    Triggers write it in the transaction that changes chunks, tags or the like, whatever code does
    that; it is deleted when the store is up to date. It only says which document to compare, so
    syncing twice or late leads to the same state.
    """

    id = models.BigAutoField(primary_key=True)
    # No constraints in the database, because the chunks of deleted namespaces must be removed from
    # stores.
    namespace = models.ForeignKey(
        "documents.Namespace",
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        null=True,
        related_name="+",
    )
    profile = models.ForeignKey(
        IndexProfile, on_delete=models.CASCADE, db_index=False, related_name="+"
    )
    document_id = models.UUIDField()
    # number of changes since it was last synced
    changes = models.PositiveIntegerField(default=1, db_default=1)
    attempts = models.PositiveIntegerField(default=0, db_default=0)  # that failed in a row
    run_after = models.DateTimeField(db_default=Now())
    lease_until = models.DateTimeField(null=True)
    lease_token = models.UUIDField(null=True)
    error_code = models.CharField(max_length=50, blank=True, default="", db_default="")
    error_message = models.TextField(blank=True, default="", db_default="")
    created_at = models.DateTimeField(db_default=Now())  # of the oldest change

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["namespace", "profile", "document_id"], name="store_change_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.document_id} for {self.profile_id}"
