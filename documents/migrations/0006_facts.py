"""Facts, behind the tenant wall."""

import uuid

import django.db.models.deletion
import django.db.models.functions.datetime
import django.db.models.functions.text
import pgvector.django.vector
from django.db import migrations, models

from ragsite.database.isolation import IsolateTenants

TABLE = "documents_fact"


def linked(column: str, target: str, when_deleted: str) -> migrations.RunSQL:
    """A foreign key that carries the namespace: plain ones ignore row-level security."""
    name = f"{TABLE}_{column}_same_namespace"
    return migrations.RunSQL(
        f"ALTER TABLE {TABLE} ADD CONSTRAINT {name} FOREIGN KEY (namespace_id, {column}) "
        f"REFERENCES {target} (namespace_id, id) ON DELETE {when_deleted}",
        f"ALTER TABLE {TABLE} DROP CONSTRAINT {name}",
    )


class Migration(migrations.Migration):
    dependencies = [
        ("documents", "0005_lexical_engine"),
    ]

    operations = [
        migrations.CreateModel(
            name="Fact",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid.uuid4, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("subject", models.CharField(max_length=500)),
                ("predicate", models.CharField(max_length=500)),
                ("object", models.TextField()),
                ("certainty", models.FloatField(default=1.0)),
                (
                    "source",
                    models.CharField(choices=[("row", "Row"), ("stated", "Stated")], max_length=10),
                ),
                ("valid_from", models.DateTimeField(null=True)),
                ("valid_to", models.DateTimeField(null=True)),
                (
                    "recorded_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), editable=False
                    ),
                ),
                ("retracted_at", models.DateTimeField(null=True)),
                ("start", models.PositiveIntegerField(null=True)),
                ("end", models.PositiveIntegerField(null=True)),
                ("embedding", pgvector.django.vector.VectorField(null=True)),
                (
                    "document",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="facts",
                        to="documents.document",
                    ),
                ),
                (
                    "namespace",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="documents.namespace",
                    ),
                ),
                (
                    "superseded_by",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="documents.fact",
                    ),
                ),
                (
                    "version",
                    models.ForeignKey(
                        db_constraint=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="documents.documentversion",
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
                "indexes": [
                    models.Index(fields=["namespace", "subject", "id"], name="fact_subject"),
                    models.Index(fields=["namespace", "predicate", "id"], name="fact_predicate"),
                    models.Index(
                        models.F("namespace"),
                        django.db.models.functions.text.MD5("object"),
                        models.F("id"),
                        name="fact_object",
                    ),
                    models.Index(fields=["namespace", "document", "id"], name="fact_document"),
                    models.Index(
                        condition=models.Q(("superseded_by__isnull", False)),
                        fields=["superseded_by"],
                        name="fact_successor",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("namespace", "id"), name="fact_in_namespace"),
                    models.CheckConstraint(
                        condition=models.Q(("certainty__gte", 0), ("certainty__lte", 1)),
                        name="fact_certainty_is_a_share",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("valid_to", None),
                            ("valid_from", None),
                            ("valid_to__gt", models.F("valid_from")),
                            _connector="OR",
                        ),
                        name="fact_validity_forward",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("superseded_by", None),
                            ("retracted_at__isnull", False),
                            _connector="OR",
                        ),
                        name="fact_superseded_is_retracted",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("document__isnull", False),
                                ("end__gt", models.F("start")),
                                ("end__isnull", False),
                                ("start__isnull", False),
                                ("version__isnull", False),
                            ),
                            models.Q(
                                ("document", None),
                                ("end", None),
                                ("start", None),
                                ("version", None),
                                models.Q(("source", "row"), _negated=True),
                            ),
                            _connector="OR",
                        ),
                        name="fact_place_is_whole",
                    ),
                ],
            },
        ),
        linked("document_id", "documents_document", "CASCADE"),
        linked("version_id", "documents_documentversion", "CASCADE"),
        # Only the link: the namespace stays.
        linked("superseded_by_id", TABLE, "SET NULL (superseded_by_id)"),
        IsolateTenants(TABLE),
    ]
