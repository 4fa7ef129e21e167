"""The words of chunks in a table of their own, with BM25 weights and counts; vectors in half
precision; the language of documents.

Chunks that are already there get their words from their text here, without the finer points of
documents/lexemes.py: those come with the next indexing.
"""

import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.contrib.postgres.search
import pgvector.django.halfvec
import pgvector.django.sparsevec
from django.core.validators import RegexValidator
from django.db import migrations, models
from django.db.models.deletion import CASCADE, DO_NOTHING, PROTECT
from django.db.models.functions.datetime import Now

from ragsite.database.isolation import IsolateTenants

# A word's place in a sparse vector. No dictionary to keep: among a billion places two words of a
# question and a chunk hardly ever meet.
DIMENSION = """
CREATE FUNCTION ragsite.dimension(lexeme text) RETURNS int
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $body$
    SELECT ((hashtextextended(lexeme, 0) & 9223372036854775807) % 1000000000)::int + 1
$body$
"""

# Namespace and profile as one value.
PLACE = """
CREATE FUNCTION ragsite.place(namespace_id uuid, profile_id uuid) RETURNS uuid[]
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $body$
    SELECT ARRAY[md5(namespace_id::text || profile_id::text)::uuid]
$body$
"""

# BM25 (k1 = 1.2, b = 0.75) without IDF. A word in title or section (A) counts like two; other ways
# to write a word (C) make the chunk no longer.
IMPACTS = """
CREATE FUNCTION ragsite.impacts(words tsvector, average_length float8) RETURNS sparsevec
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $body$
    WITH term AS (
        SELECT ragsite.dimension(lexeme) AS dimension,
               cardinality(positions) + cardinality(array_positions(weights, 'A')) AS times,
               cardinality(array_positions(weights, 'C')) AS extras
        FROM unnest(words)
    ), whole AS (
        SELECT 1.2 * (0.25 + 0.75 * sum(times - extras) / average_length) AS saturation FROM term
    ), impact AS (
        SELECT dimension, (sum(times) * 2.2 / (sum(times) + saturation))::real AS impact
        FROM term, whole GROUP BY dimension, saturation
    )
    SELECT ('{' || coalesce(string_agg(dimension || ':' || impact, ','), '') || '}/1000000000')
           ::sparsevec
    FROM impact
$body$
"""

FILL = """
INSERT INTO documents_chunkterms
    (chunk_id, namespace_id, profile_id, document_id, kind, place, words_hash,
     search_vector, impacts)
SELECT chunk.id, chunk.namespace_id, chunk.profile_id, chunk.document_id, chunk.kind,
       ragsite.place(chunk.namespace_id, chunk.profile_id), hashtextextended(chunk.content, 0),
       chunk.search_vector,
       ragsite.impacts(chunk.search_vector, profile.chunk_size * 0.3)
FROM documents_chunk chunk JOIN documents_indexprofile profile ON profile.id = chunk.profile_id
"""

# What is there was all indexed as English.
COUNT = """
INSERT INTO documents_termstatistics (namespace_id, profile_id, chunks, configurations, revision)
SELECT terms.namespace_id, terms.profile_id, count(*),
       jsonb_build_object('english', count(*)), namespace.revision
FROM documents_chunkterms terms
JOIN documents_namespace namespace ON namespace.id = terms.namespace_id
GROUP BY terms.namespace_id, terms.profile_id, namespace.revision
"""

COUNT_WORDS = """
INSERT INTO documents_termfrequency (namespace_id, profile_id, lexeme, chunks)
SELECT counted.namespace_id, counted.profile_id, stat.word, stat.ndoc
FROM documents_termstatistics counted
CROSS JOIN LATERAL ts_stat(format(
    'SELECT search_vector FROM documents_chunkterms WHERE namespace_id = %L AND profile_id = %L',
    counted.namespace_id, counted.profile_id)) stat
"""

ADD_SEARCH_VECTOR = """
UPDATE documents_chunk chunk SET search_vector = terms.search_vector
FROM documents_chunkterms terms WHERE terms.chunk_id = chunk.id
"""


KINDS = [("text", "Text"), ("code", "Code"), ("table", "Table"), ("image", "Image")]


def linked(table: str, column: str, target: str) -> migrations.RunSQL:
    """A foreign key that carries the namespace: plain ones ignore row-level security."""
    name = f"{table}_{column}_same_namespace"
    return migrations.RunSQL(
        f"ALTER TABLE {table} ADD CONSTRAINT {name} FOREIGN KEY (namespace_id, {column}) "
        f"REFERENCES {target} (namespace_id, id) ON DELETE CASCADE",
        f"ALTER TABLE {table} DROP CONSTRAINT {name}",
    )


def to(model: str, on_delete: object = CASCADE, **options: object) -> models.ForeignKey:
    options = {"db_index": False, "related_name": "+"} | options
    return models.ForeignKey(to=f"documents.{model}", on_delete=on_delete, **options)


class Migration(migrations.Migration):
    dependencies = [("documents", "0004_default_profile")]

    operations = [
        migrations.RunSQL(DIMENSION, "DROP FUNCTION ragsite.dimension"),
        migrations.RunSQL(PLACE, "DROP FUNCTION ragsite.place"),
        migrations.RunSQL(IMPACTS, "DROP FUNCTION ragsite.impacts"),
        migrations.CreateModel(
            name="ChunkTerms",
            fields=[
                (
                    "chunk",
                    models.OneToOneField(
                        db_constraint=False,
                        on_delete=DO_NOTHING,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="documents.chunk",
                    ),
                ),
                ("namespace", to("namespace")),
                ("profile", to("indexprofile", PROTECT)),
                ("document", to("document", DO_NOTHING, db_constraint=False, db_index=True)),
                ("kind", models.CharField(choices=KINDS, max_length=10)),
                (
                    "place",
                    django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField()),
                ),
                ("words_hash", models.BigIntegerField()),
                ("search_vector", django.contrib.postgres.search.SearchVectorField()),
                ("impacts", pgvector.django.sparsevec.SparseVectorField()),
            ],
            options={"verbose_name_plural": "chunk terms"},
        ),
        migrations.CreateModel(
            name="TermFrequency",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("namespace", to("namespace")),
                ("profile", to("indexprofile")),
                ("lexeme", models.TextField(db_collation="C")),
                ("chunks", models.IntegerField()),
            ],
            options={
                "verbose_name_plural": "term frequencies",
                "constraints": [
                    models.UniqueConstraint(
                        fields=["namespace", "profile", "lexeme"], name="frequency_once"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="TermStatistics",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("namespace", to("namespace")),
                ("profile", to("indexprofile")),
                ("chunks", models.BigIntegerField()),
                ("configurations", models.JSONField()),
                ("revision", models.BigIntegerField()),
                ("counted_at", models.DateTimeField(db_default=Now())),
            ],
            options={
                "verbose_name_plural": "term statistics",
                "constraints": [
                    models.UniqueConstraint(fields=["namespace", "profile"], name="statistics_once")
                ],
            },
        ),
        linked("documents_chunkterms", "document_id", "documents_document"),
        migrations.RunSQL(
            "ALTER TABLE documents_chunkterms ADD CONSTRAINT chunkterms_of_chunk "
            "FOREIGN KEY (chunk_id) REFERENCES documents_chunk (id) ON DELETE CASCADE",
            "ALTER TABLE documents_chunkterms DROP CONSTRAINT chunkterms_of_chunk",
        ),
        # The weights are read for every candidate: never from a page of their own.
        migrations.RunSQL(
            "ALTER TABLE documents_chunkterms ALTER impacts SET STORAGE MAIN",
            migrations.RunSQL.noop,
        ),
        IsolateTenants("documents_chunkterms", definer_reads=True),
        IsolateTenants("documents_termstatistics"),
        IsolateTenants("documents_termfrequency"),
        migrations.RunSQL(FILL, ADD_SEARCH_VECTOR),
        migrations.RunSQL(COUNT, migrations.RunSQL.noop),
        migrations.RunSQL(COUNT_WORDS, migrations.RunSQL.noop),
        migrations.RemoveIndex(model_name="chunk", name="chunk_words"),
        migrations.RemoveField(model_name="chunk", name="search_vector"),
        migrations.AddIndex(
            model_name="chunkterms",
            index=django.contrib.postgres.indexes.GinIndex(
                fields=["search_vector", "place"], name="chunk_words"
            ),
        ),
        migrations.AddIndex(
            model_name="chunkterms",
            index=models.Index(fields=["namespace", "profile"], name="terms_of_profile"),
        ),
        migrations.RemoveIndex(model_name="chunk", name="chunk_of_profile"),
        migrations.AddIndex(
            model_name="chunk",
            index=models.Index(fields=["namespace", "profile", "kind"], name="chunk_of_profile"),
        ),
        migrations.AlterField(
            model_name="chunk",
            name="embedding",
            field=pgvector.django.halfvec.HalfVectorField(),
        ),
        migrations.AlterField(
            model_name="chunk",
            name="kind",
            field=models.CharField(choices=KINDS, default="text", max_length=10),
        ),
        migrations.AddField(
            model_name="document",
            name="language",
            field=models.CharField(blank=True, max_length=8),
        ),
        migrations.AddField(
            model_name="namespace",
            name="language",
            field=models.CharField(
                blank=True,
                help_text="ISO 639-1 code of what its documents are written in, e.g. de. "
                "Blank: found out for each document.",
                max_length=8,
                validators=[RegexValidator(r"^[a-z]{2}\Z", "Use two lowercase letters, e.g. de.")],
            ),
        ),
    ]
