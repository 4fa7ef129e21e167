"""Feedback with the passages that were chosen, behind the tenant wall."""

import uuid

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

from ragsite.database.isolation import IsolateTenants


def linked(table: str, column: str, target: str, when_deleted: str) -> migrations.RunSQL:
    """A foreign key that carries the namespace: plain ones ignore row-level security."""
    name = f"evaluation_{table}_{column}_same_namespace"
    return migrations.RunSQL(
        f"ALTER TABLE evaluation_{table} ADD CONSTRAINT {name} "
        f"FOREIGN KEY (namespace_id, {column}) "
        f"REFERENCES {target} (namespace_id, id) ON DELETE {when_deleted}",
        f"ALTER TABLE evaluation_{table} DROP CONSTRAINT {name}",
    )


class Migration(migrations.Migration):
    dependencies = [
        ("evaluation", "0001_golden_sets_and_runs"),
        ("retrieval", "0004_query_log_in_namespace"),
    ]

    operations = [
        migrations.CreateModel(
            name="Feedback",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid.uuid4, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("query", models.TextField()),
                ("filters", models.JSONField(default=dict, help_text="As in POST /query.")),
                (
                    "selected_chunk_ids",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.UUIDField(), default=list, size=None
                    ),
                ),
                ("useful", models.BooleanField(help_text="?: nobody said.", null=True)),
                ("comment", models.TextField(blank=True)),
                ("request_id", models.CharField(blank=True, max_length=128)),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), editable=False
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
                    "query_log",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="feedback",
                        to="retrieval.querylog",
                        verbose_name="line of the query log",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "feedback",
                "ordering": ["-created_at"],
            },
        ),
        migrations.CreateModel(
            name="SelectedPassage",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid.uuid4, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("chunk_id", models.UUIDField()),
                ("start", models.PositiveIntegerField()),
                ("end", models.PositiveIntegerField()),
                ("quote", models.TextField()),
                (
                    "document",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="documents.document",
                    ),
                ),
                (
                    "feedback",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="selected",
                        to="evaluation.feedback",
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
            ],
            options={
                "ordering": ["start", "id"],
            },
        ),
        migrations.AddIndex(
            model_name="feedback",
            index=models.Index(fields=["namespace", "-created_at", "-id"], name="feedback_newest"),
        ),
        migrations.AddIndex(
            model_name="feedback",
            index=models.Index(fields=["namespace", "query_log"], name="feedback_of_query"),
        ),
        migrations.AddConstraint(
            model_name="feedback",
            constraint=models.UniqueConstraint(
                fields=("namespace", "id"), name="feedback_in_namespace"
            ),
        ),
        migrations.AddConstraint(
            model_name="feedback",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("useful__isnull", False),
                    models.Q(("comment", ""), _negated=True),
                    models.Q(("selected_chunk_ids", []), _negated=True),
                    _connector="OR",
                ),
                name="feedback_says_something",
            ),
        ),
        migrations.AddIndex(
            model_name="selectedpassage",
            index=models.Index(fields=["namespace", "feedback"], name="selected_of_feedback"),
        ),
        migrations.AddConstraint(
            model_name="selectedpassage",
            constraint=models.UniqueConstraint(
                fields=("feedback", "chunk_id"), name="selected_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="selectedpassage",
            constraint=models.CheckConstraint(
                condition=models.Q(("end__gt", models.F("start"))), name="selected_span_forward"
            ),
        ),
        linked("feedback", "query_log_id", "retrieval_querylog", "SET NULL (query_log_id)"),
        linked("selectedpassage", "feedback_id", "evaluation_feedback", "CASCADE"),
        linked("selectedpassage", "document_id", "documents_document", "CASCADE"),
        IsolateTenants("evaluation_feedback"),
        IsolateTenants("evaluation_selectedpassage"),
    ]
