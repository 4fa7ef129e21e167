"""Golden sets, judgements and runs, behind the tenant wall."""

import uuid

import django.contrib.postgres.fields
import django.core.validators
import django.db.models.deletion
import django.db.models.functions.comparison
import django.db.models.functions.datetime
import django.db.models.functions.text
import django.utils.timezone
from django.db import migrations, models

from ragsite.database.isolation import DefinerFunction, IsolateTenants


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
    initial = True

    dependencies = [
        ("documents", "0007_chunkers"),
    ]

    operations = [
        migrations.CreateModel(
            name="GoldenSet",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid.uuid4, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("name", models.CharField(max_length=200)),
                ("description", models.TextField(blank=True)),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), editable=False
                    ),
                ),
                (
                    "updated_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), editable=False
                    ),
                ),
                (
                    "namespace",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="golden_sets",
                        to="documents.namespace",
                    ),
                ),
            ],
            options={
                "ordering": ["name"],
            },
        ),
        migrations.CreateModel(
            name="GoldenQuery",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid.uuid4, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "external_id",
                    models.CharField(
                        blank=True,
                        help_text="What it is called where it was imported from.",
                        max_length=200,
                    ),
                ),
                ("text", models.TextField()),
                (
                    "filters",
                    models.JSONField(blank=True, default=dict, help_text="As in POST /query."),
                ),
                (
                    "tags",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(), blank=True, default=list, size=None
                    ),
                ),
                ("notes", models.TextField(blank=True)),
                (
                    "created_at",
                    models.DateTimeField(default=django.utils.timezone.now, editable=False),
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
                    "golden_set",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="queries",
                        to="evaluation.goldenset",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "golden queries",
                "ordering": ["created_at", "id"],
            },
        ),
        migrations.CreateModel(
            name="EvaluationRun",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid.uuid4, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("label", models.CharField(blank=True, max_length=200)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("queued", "Queued"),
                            ("running", "Running"),
                            ("succeeded", "Succeeded"),
                            ("failed", "Failed"),
                            ("cancelled", "Cancelled"),
                        ],
                        default="queued",
                        max_length=10,
                    ),
                ),
                ("options", models.JSONField(default=dict)),
                ("configuration", models.JSONField(default=dict)),
                ("code_version", models.CharField(blank=True, max_length=100)),
                ("queries_total", models.PositiveIntegerField(default=0)),
                ("queries_done", models.PositiveIntegerField(default=0)),
                ("metrics", models.JSONField(default=dict)),
                ("latency_ms", models.JSONField(default=dict)),
                ("tokens", models.JSONField(default=dict)),
                ("warnings", models.JSONField(default=list)),
                ("attempts", models.PositiveIntegerField(default=0)),
                ("lease_until", models.DateTimeField(null=True)),
                ("error_code", models.CharField(blank=True, max_length=50)),
                ("error_message", models.TextField(blank=True)),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), editable=False
                    ),
                ),
                ("started_at", models.DateTimeField(null=True)),
                ("finished_at", models.DateTimeField(null=True)),
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
                    "golden_set",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="runs",
                        to="evaluation.goldenset",
                    ),
                ),
            ],
            options={
                "ordering": ["-created_at"],
            },
        ),
        migrations.CreateModel(
            name="Judgement",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid.uuid4, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("source_uri", models.TextField()),
                ("start", models.PositiveIntegerField(blank=True, null=True)),
                ("end", models.PositiveIntegerField(blank=True, null=True)),
                (
                    "quote",
                    models.TextField(
                        blank=True, help_text="The judged text; blank: the whole document."
                    ),
                ),
                (
                    "grade",
                    models.PositiveSmallIntegerField(
                        default=1,
                        help_text="0 does not answer, 1 touches it, 2 answers in part, 3 answers.",
                        validators=[django.core.validators.MaxValueValidator(10)],
                    ),
                ),
                (
                    "is_hard_negative",
                    models.BooleanField(
                        default=False,
                        help_text="Looks right and is not: exported to train rerankers.",
                    ),
                ),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), editable=False
                    ),
                ),
                (
                    "document",
                    models.ForeignKey(
                        blank=True,
                        db_constraint=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
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
                    "query",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="judgements",
                        to="evaluation.goldenquery",
                    ),
                ),
            ],
            options={
                "ordering": ["-grade", "id"],
            },
        ),
        migrations.CreateModel(
            name="QueryScore",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid.uuid4, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("ordinal", models.PositiveIntegerField()),
                ("text", models.TextField()),
                ("metrics", models.JSONField(default=dict)),
                ("judged", models.JSONField(default=list)),
                ("ranking", models.JSONField(default=list)),
                ("times_ms", models.JSONField(default=dict)),
                ("tokens", models.PositiveIntegerField(default=0)),
                ("fallbacks", models.JSONField(default=list)),
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
                    "query",
                    models.ForeignKey(
                        db_constraint=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="evaluation.goldenquery",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="scores",
                        to="evaluation.evaluationrun",
                    ),
                ),
            ],
            options={
                "ordering": ["ordinal"],
            },
        ),
        migrations.AddConstraint(
            model_name="goldenset",
            constraint=models.UniqueConstraint(
                fields=("namespace", "name"), name="golden_set_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="goldenset",
            constraint=models.UniqueConstraint(
                fields=("namespace", "id"), name="golden_set_in_namespace"
            ),
        ),
        migrations.AddIndex(
            model_name="goldenquery",
            index=models.Index(
                fields=["namespace", "golden_set", "created_at", "id"], name="golden_query_order"
            ),
        ),
        migrations.AddConstraint(
            model_name="goldenquery",
            constraint=models.UniqueConstraint(
                fields=("namespace", "id"), name="golden_query_in_namespace"
            ),
        ),
        migrations.AddConstraint(
            model_name="goldenquery",
            constraint=models.UniqueConstraint(
                models.F("golden_set"),
                django.db.models.functions.text.MD5("text"),
                name="golden_query_once",
            ),
        ),
        migrations.AddConstraint(
            model_name="goldenquery",
            constraint=models.UniqueConstraint(
                condition=models.Q(("external_id", ""), _negated=True),
                fields=("golden_set", "external_id"),
                name="golden_query_external_once",
            ),
        ),
        migrations.AddIndex(
            model_name="evaluationrun",
            index=models.Index(
                fields=["namespace", "-created_at", "-id"], name="evaluation_newest"
            ),
        ),
        migrations.AddIndex(
            model_name="evaluationrun",
            index=models.Index(
                condition=models.Q(("state__in", ["queued", "running"])),
                fields=["created_at"],
                name="evaluation_open",
            ),
        ),
        migrations.AddConstraint(
            model_name="evaluationrun",
            constraint=models.UniqueConstraint(
                fields=("namespace", "id"), name="evaluation_in_namespace"
            ),
        ),
        migrations.AddIndex(
            model_name="judgement",
            index=models.Index(fields=["namespace", "query"], name="judgement_of_query"),
        ),
        migrations.AddConstraint(
            model_name="judgement",
            constraint=models.UniqueConstraint(
                models.F("query"),
                django.db.models.functions.text.MD5("source_uri"),
                django.db.models.functions.comparison.Coalesce(models.F("start"), -1),
                django.db.models.functions.comparison.Coalesce(models.F("end"), -1),
                name="judgement_once",
            ),
        ),
        migrations.AddConstraint(
            model_name="judgement",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("end", None), ("quote", ""), ("start", None)),
                    models.Q(
                        ("end__gt", models.F("start")),
                        ("end__isnull", False),
                        ("start__isnull", False),
                        models.Q(("quote", ""), _negated=True),
                    ),
                    _connector="OR",
                ),
                name="judgement_span_is_whole",
            ),
        ),
        migrations.AddConstraint(
            model_name="judgement",
            constraint=models.CheckConstraint(
                condition=models.Q(("grade__lte", 10)), name="judgement_grade_bounded"
            ),
        ),
        migrations.AddConstraint(
            model_name="judgement",
            constraint=models.CheckConstraint(
                condition=models.Q(("is_hard_negative", False), ("grade", 0), _connector="OR"),
                name="judgement_negative_is_zero",
            ),
        ),
        migrations.AddIndex(
            model_name="queryscore",
            index=models.Index(fields=["namespace", "run"], name="query_score_of_run"),
        ),
        migrations.AddConstraint(
            model_name="queryscore",
            constraint=models.UniqueConstraint(fields=("run", "ordinal"), name="query_score_once"),
        ),
        linked("goldenquery", "golden_set_id", "evaluation_goldenset", "CASCADE"),
        linked("judgement", "query_id", "evaluation_goldenquery", "CASCADE"),
        linked("judgement", "document_id", "documents_document", "CASCADE"),
        linked("evaluationrun", "golden_set_id", "evaluation_goldenset", "CASCADE"),
        linked("queryscore", "run_id", "evaluation_evaluationrun", "CASCADE"),
        linked("queryscore", "query_id", "evaluation_goldenquery", "SET NULL (query_id)"),
        IsolateTenants("evaluation_goldenset"),
        IsolateTenants("evaluation_goldenquery"),
        IsolateTenants("evaluation_judgement"),
        IsolateTenants("evaluation_evaluationrun", definer_reads=True),
        IsolateTenants("evaluation_queryscore"),
        # What next? Runs that wait, and those whose worker died: its lease has run out.
        DefinerFunction(
            "waiting_evaluations(at_most int)",
            "TABLE (run_id uuid, namespace_id uuid)",
            """
            SELECT id, namespace_id FROM evaluation_evaluationrun
            WHERE state = 'queued' OR (state = 'running' AND lease_until < now())
            ORDER BY created_at LIMIT at_most
            """,
        ),
    ]
