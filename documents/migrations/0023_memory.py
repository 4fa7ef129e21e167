"""Memory: statements, the facts that follow from them, their vectors, aliases and rules."""

import uuid
from typing import Any

import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.contrib.postgres.search
import django.db.models.deletion
import django.db.models.functions.datetime
import pgvector.django.halfvec
from django.db import migrations, models

# Plain functions, imported because stored keys and those of later statements have to be equal.
from documents.memory.rules.names import name_key, object_key, predicate_key
from documents.memory.rules.predicates import ALIASES
from documents.memory.rules.rendering import plain
from documents.text.lexemes import prepare
from ragsite.database.isolation import IsolateTenants

BATCH = 5000
NEW_TABLES = (
    "documents_factstate",
    "documents_factstatement",
    "documents_factvector",
    "documents_factalias",
    "documents_facterasure",
    "documents_predicaterule",
)


def linked(table: str, column: str, target: str, when_deleted: str) -> migrations.RunSQL:
    """A foreign key that carries the namespace: plain ones ignore row-level security."""
    name = f"{table}_{column}_same_namespace"
    return migrations.RunSQL(
        f"ALTER TABLE {table} ADD CONSTRAINT {name} FOREIGN KEY (namespace_id, {column}) "
        f"REFERENCES {target} (namespace_id, id) ON DELETE {when_deleted}",
        f"ALTER TABLE {table} DROP CONSTRAINT {name}",
    )


def add_keys(apps: Any, schema_editor: Any) -> None:
    """Give the facts that are there their normalised forms and their words."""
    with schema_editor.connection.cursor() as cursor:
        last = uuid.UUID(int=0)
        while True:
            cursor.execute(
                "SELECT id, subject, predicate, object #>> '{}' FROM documents_fact WHERE id > %s "
                "ORDER BY id LIMIT %s",
                [last, BATCH],
            )
            rows = cursor.fetchall()
            if not rows:
                # The new type of `object` has rewritten the rows, so their links are checked again
                # at the end of the transaction; until that is done no index can be made.
                cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
                return
            last = rows[-1][0]
            keys = [predicate_key(predicate) for _, _, predicate, _ in rows]
            words = [prepare(plain(*row[1:])) for row in rows]
            cursor.execute(
                "UPDATE documents_fact fact SET subject_key = keyed.subject, "
                "  predicate_key = keyed.predicate, object_key = keyed.object, "
                "  words = to_tsvector('simple', keyed.words), "
                "  last_verified_at = recorded_at, believed_since = recorded_at "
                "FROM unnest(%s::uuid[], %s::text[], %s::text[], %s::text[], %s::text[]) "
                "  AS keyed (id, subject, predicate, object, words) WHERE fact.id = keyed.id",
                [
                    [row[0] for row in rows],
                    [name_key(row[1]) for row in rows],
                    [ALIASES.get(key, key) for key in keys],
                    [object_key(row[3]) for row in rows],
                    [f"{each.running} {each.extras}" for each in words],
                ],
            )


class Migration(migrations.Migration):
    dependencies = [
        ("documents", "0022_namespace_links"),
    ]

    operations = [
        migrations.CreateModel(
            name="FactAlias",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid.uuid4, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[("subject", "Subject"), ("predicate", "Predicate")],
                        default="subject",
                        max_length=10,
                    ),
                ),
                ("alias", models.CharField(max_length=500)),
                ("alias_key", models.CharField(editable=False, max_length=500)),
                ("name", models.CharField(help_text="What it stands for.", max_length=500)),
                ("name_key", models.CharField(editable=False, max_length=500)),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), editable=False
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "fact aliases",
                "ordering": ["kind", "alias_key"],
            },
        ),
        migrations.CreateModel(
            name="FactErasure",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid.uuid4, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("selected_by", models.CharField(max_length=20)),
                ("facts", models.PositiveIntegerField()),
                ("statements", models.PositiveIntegerField()),
                ("vectors", models.PositiveIntegerField()),
                ("past_states", models.PositiveIntegerField()),
                ("queries", models.PositiveIntegerField()),
                ("actor_kind", models.CharField(max_length=10)),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), editable=False
                    ),
                ),
            ],
            options={
                "verbose_name": "erasure of facts",
                "verbose_name_plural": "erasures of facts",
                "ordering": ["-created_at", "-id"],
            },
        ),
        migrations.CreateModel(
            name="FactState",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("valid_from", models.DateTimeField(null=True)),
                ("valid_to", models.DateTimeField(null=True)),
                ("certainty", models.FloatField()),
                ("last_verified_at", models.DateTimeField()),
                ("confirmations", models.PositiveIntegerField()),
                ("believed_from", models.DateTimeField()),
                ("believed_to", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="FactStatement",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid.uuid4, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("client", "Client"),
                            ("passage", "Passage"),
                            ("turn", "Turn"),
                            ("confirmation", "Confirmation"),
                            ("correction", "Correction"),
                        ],
                        default="client",
                        max_length=12,
                    ),
                ),
                (
                    "user",
                    models.CharField(blank=True, db_column="whose", default="", max_length=200),
                ),
                ("subject", models.CharField(max_length=500)),
                ("predicate", models.CharField(max_length=500)),
                ("object", models.JSONField()),
                ("subject_key", models.CharField(max_length=500)),
                ("predicate_key", models.CharField(max_length=500)),
                ("object_key", models.CharField(max_length=32)),
                ("certainty", models.FloatField()),
                ("valid_from", models.DateTimeField(null=True)),
                ("valid_to", models.DateTimeField(null=True)),
                ("stated_at", models.DateTimeField()),
                ("verified_at", models.DateTimeField()),
                ("is_approved", models.BooleanField(default=True)),
                ("withdrawn_at", models.DateTimeField(null=True)),
                ("source_uri", models.CharField(blank=True, default="", max_length=2048)),
                ("statement_id", models.CharField(blank=True, default="", max_length=200)),
                ("start", models.PositiveIntegerField(null=True)),
                ("end", models.PositiveIntegerField(null=True)),
                ("conversation_id", models.UUIDField(null=True)),
                ("turn_id", models.UUIDField(null=True)),
            ],
            options={
                "ordering": ["stated_at"],
            },
        ),
        migrations.CreateModel(
            name="FactVector",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("embedding", pgvector.django.halfvec.HalfVectorField()),
            ],
        ),
        migrations.CreateModel(
            name="PredicateRule",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid.uuid4, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("predicate", models.CharField(max_length=500)),
                ("predicate_key", models.CharField(editable=False, max_length=500)),
                (
                    "is_single",
                    models.BooleanField(
                        default=False,
                        help_text="A new value closes the one before it.",
                        verbose_name="one value at a time",
                    ),
                ),
                (
                    "half_life_days",
                    models.FloatField(
                        blank=True,
                        help_text="Days until an unconfirmed fact counts half; empty: never.",
                        null=True,
                    ),
                ),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), editable=False
                    ),
                ),
            ],
            options={
                "ordering": ["predicate_key"],
            },
        ),
        migrations.RemoveIndex(
            model_name="fact",
            name="fact_subject",
        ),
        migrations.RemoveIndex(
            model_name="fact",
            name="fact_predicate",
        ),
        migrations.RemoveIndex(
            model_name="fact",
            name="fact_object",
        ),
        migrations.RemoveField(
            model_name="fact",
            name="embedding",
        ),
        migrations.AddField(
            model_name="fact",
            name="believed_since",
            field=models.DateTimeField(
                db_default=django.db.models.functions.datetime.Now(), editable=False
            ),
        ),
        migrations.AddField(
            model_name="fact",
            name="confirmations",
            field=models.PositiveIntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name="fact",
            name="last_verified_at",
            field=models.DateTimeField(
                db_default=django.db.models.functions.datetime.Now(), editable=False
            ),
        ),
        migrations.AddField(
            model_name="fact",
            name="object_key",
            field=models.CharField(db_default="", default="", max_length=32),
        ),
        migrations.AddField(
            model_name="fact",
            name="predicate_key",
            field=models.CharField(db_default="", default="", max_length=500),
        ),
        migrations.AddField(
            model_name="fact",
            name="source_uri",
            field=models.CharField(blank=True, db_default="", default="", max_length=2048),
        ),
        migrations.AddField(
            model_name="fact",
            name="status",
            field=models.CharField(
                choices=[
                    ("approved", "Approved"),
                    ("proposed", "Proposed"),
                    ("rejected", "Rejected"),
                ],
                db_default="approved",
                default="approved",
                max_length=10,
            ),
        ),
        migrations.AddField(
            model_name="fact",
            name="subject_key",
            field=models.CharField(db_default="", default="", max_length=500),
        ),
        migrations.AddField(
            model_name="fact",
            name="tags",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(max_length=200), blank=True, default=list, size=None
            ),
        ),
        migrations.AddField(
            model_name="fact",
            name="user",
            field=models.CharField(
                blank=True, db_column="whose", db_default="", default="", max_length=200
            ),
        ),
        migrations.AddField(
            model_name="fact",
            name="words",
            field=django.contrib.postgres.search.SearchVectorField(null=True),
        ),
        migrations.RunSQL(
            "ALTER TABLE documents_fact ALTER COLUMN object TYPE jsonb USING to_jsonb(object)",
            "ALTER TABLE documents_fact ALTER COLUMN object TYPE text USING object #>> '{}'",
            state_operations=[
                migrations.AlterField(model_name="fact", name="object", field=models.JSONField()),
            ],
        ),
        migrations.RunPython(add_keys, migrations.RunPython.noop),
        migrations.AlterField(
            model_name="fact",
            name="source",
            field=models.CharField(
                choices=[("row", "Row"), ("stated", "Stated"), ("model", "Model")], max_length=10
            ),
        ),
        migrations.AddIndex(
            model_name="fact",
            index=models.Index(fields=["namespace", "subject_key", "id"], name="fact_subject"),
        ),
        migrations.AddIndex(
            model_name="fact",
            index=models.Index(fields=["namespace", "object_key", "id"], name="fact_object"),
        ),
        migrations.AddIndex(
            model_name="fact",
            index=models.Index(
                fields=["namespace", "subject_key", "predicate_key"], name="fact_slot"
            ),
        ),
        migrations.AddIndex(
            model_name="fact",
            index=models.Index(fields=["namespace", "predicate_key", "id"], name="fact_predicate"),
        ),
        migrations.AddIndex(
            model_name="fact",
            index=models.Index(
                condition=models.Q(("source", "row"), _negated=True),
                fields=["namespace", "id"],
                name="fact_stated",
            ),
        ),
        migrations.AddIndex(
            model_name="fact",
            index=django.contrib.postgres.indexes.GinIndex(fields=["words"], name="fact_words"),
        ),
        migrations.AddConstraint(
            model_name="fact",
            constraint=models.UniqueConstraint(
                condition=models.Q(
                    ("retracted_at", None),
                    ("status", "approved"),
                    ("valid_to", None),
                    models.Q(("source", "row"), _negated=True),
                ),
                fields=("namespace", "user", "subject_key", "predicate_key", "object_key"),
                name="fact_holds_once",
            ),
        ),
        migrations.AddField(
            model_name="factalias",
            name="namespace",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to="documents.namespace",
            ),
        ),
        migrations.AddField(
            model_name="facterasure",
            name="namespace",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to="documents.namespace",
            ),
        ),
        migrations.AddField(
            model_name="factstate",
            name="fact",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="past_states",
                to="documents.fact",
            ),
        ),
        migrations.AddField(
            model_name="factstate",
            name="namespace",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to="documents.namespace",
            ),
        ),
        migrations.AddField(
            model_name="factstatement",
            name="document",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                to="documents.document",
            ),
        ),
        migrations.AddField(
            model_name="factstatement",
            name="fact",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="statements",
                to="documents.fact",
            ),
        ),
        migrations.AddField(
            model_name="factstatement",
            name="namespace",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to="documents.namespace",
            ),
        ),
        migrations.AddField(
            model_name="factstatement",
            name="version",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                to="documents.documentversion",
            ),
        ),
        migrations.AddField(
            model_name="factvector",
            name="fact",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="vectors",
                to="documents.fact",
            ),
        ),
        migrations.AddField(
            model_name="factvector",
            name="namespace",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to="documents.namespace",
            ),
        ),
        migrations.AddField(
            model_name="factvector",
            name="profile",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to="documents.indexprofile",
            ),
        ),
        migrations.AddField(
            model_name="predicaterule",
            name="namespace",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to="documents.namespace",
            ),
        ),
        migrations.AddIndex(
            model_name="factalias",
            index=models.Index(fields=["namespace", "kind", "name_key"], name="fact_alias_of_name"),
        ),
        migrations.AddConstraint(
            model_name="factalias",
            constraint=models.UniqueConstraint(
                fields=("namespace", "kind", "alias_key"), name="fact_alias_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="factalias",
            constraint=models.CheckConstraint(
                condition=models.Q(("alias_key", models.F("name_key")), _negated=True),
                name="fact_alias_of_another",
            ),
        ),
        migrations.AddIndex(
            model_name="facterasure",
            index=models.Index(
                fields=["namespace", "-created_at", "-id"], name="fact_erasure_newest"
            ),
        ),
        migrations.AddIndex(
            model_name="factstate",
            index=models.Index(
                fields=["namespace", "fact", "believed_from"], name="fact_state_of_fact"
            ),
        ),
        migrations.AddIndex(
            model_name="factstatement",
            index=models.Index(
                fields=["namespace", "subject_key", "predicate_key", "stated_at"],
                name="fact_statement_slot",
            ),
        ),
        migrations.AddIndex(
            model_name="factstatement",
            index=models.Index(
                fields=["namespace", "fact", "stated_at"], name="fact_statement_of_fact"
            ),
        ),
        migrations.AddIndex(
            model_name="factstatement",
            index=models.Index(
                condition=models.Q(("document__isnull", False)),
                fields=["document"],
                name="fact_statement_document",
            ),
        ),
        migrations.AddIndex(
            model_name="factstatement",
            index=models.Index(
                condition=models.Q(("version__isnull", False)),
                fields=["version"],
                name="fact_statement_version",
            ),
        ),
        migrations.AddConstraint(
            model_name="factstatement",
            constraint=models.UniqueConstraint(
                condition=models.Q(("statement_id", ""), _negated=True),
                fields=("namespace", "statement_id"),
                name="fact_statement_once",
            ),
        ),
        migrations.AddConstraint(
            model_name="factstatement",
            constraint=models.CheckConstraint(
                condition=models.Q(("certainty__gte", 0), ("certainty__lte", 1)),
                name="fact_statement_certainty_is_a_share",
            ),
        ),
        migrations.AddConstraint(
            model_name="factstatement",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("valid_to", None),
                    ("valid_from", None),
                    ("valid_to__gt", models.F("valid_from")),
                    _connector="OR",
                ),
                name="fact_statement_validity_forward",
            ),
        ),
        migrations.AddIndex(
            model_name="factvector",
            index=models.Index(fields=["namespace", "fact"], name="fact_vector_of_fact"),
        ),
        migrations.AddIndex(
            model_name="factvector",
            index=models.Index(fields=["profile"], name="fact_vector_of_profile"),
        ),
        migrations.AddConstraint(
            model_name="factvector",
            constraint=models.UniqueConstraint(
                fields=("namespace", "profile", "fact"), name="fact_vector_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="predicaterule",
            constraint=models.UniqueConstraint(
                fields=("namespace", "predicate_key"), name="predicate_rule_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="predicaterule",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("half_life_days", None), ("half_life_days__gt", 0), _connector="OR"
                ),
                name="predicate_rule_half_life_positive",
            ),
        ),
        linked("documents_factstate", "fact_id", "documents_fact", "CASCADE"),
        linked("documents_factvector", "fact_id", "documents_fact", "CASCADE"),
        linked("documents_factstatement", "fact_id", "documents_fact", "CASCADE"),
        # What users approved stays when the document goes that it came from.
        linked(
            "documents_factstatement",
            "document_id",
            "documents_document",
            "SET NULL (document_id)",
        ),
        linked(
            "documents_factstatement",
            "version_id",
            "documents_documentversion",
            "SET NULL (version_id)",
        ),
        *(IsolateTenants(table) for table in NEW_TABLES),
    ]
