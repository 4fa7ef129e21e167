"""More ways to find near vectors, and the building of one profile beside another."""

import uuid

import django.core.validators
import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

from ragsite.database.isolation import DefinerFunction, IsolateTenants


class Migration(migrations.Migration):
    dependencies = [
        ("documents", "0008_usage"),
    ]

    operations = [
        migrations.AddField(
            model_name="indexprofile",
            name="index_facts",
            field=models.JSONField(default=dict, editable=False),
        ),
        migrations.AlterField(
            model_name="indexprofile",
            name="ann_method",
            field=models.CharField(
                choices=[
                    ("hnsw", "Hnsw"),
                    ("ivfflat", "Ivfflat"),
                    ("exact", "Exact"),
                    ("diskann", "Diskann"),
                    ("scann", "Scann"),
                ],
                default="hnsw",
                help_text="How near vectors are found: hnsw, ivfflat, or exact (no index); "
                "diskann and scann where the server has their extension.",
                max_length=10,
                verbose_name="ANN method",
            ),
        ),
        migrations.AlterField(
            model_name="indexprofile",
            name="ann_options",
            field=models.JSONField(
                blank=True,
                default=dict,
                help_text='Of hnsw: {"m": 16, "ef_construction": 64}. Of ivfflat: {"lists": …, '
                '"probes": …}, chosen by the number of rows where not named.',
                verbose_name="ANN options",
            ),
        ),
        migrations.AlterField(
            model_name="indexprofile",
            name="dimensions",
            field=models.PositiveIntegerField(
                validators=[
                    django.core.validators.MinValueValidator(1),
                    django.core.validators.MaxValueValidator(4000),
                ]
            ),
        ),
        migrations.CreateModel(
            name="Reindex",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid.uuid4, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("building", "Building"),
                            ("built", "Built"),
                            ("switched", "Switched"),
                            ("reclaimed", "Reclaimed"),
                            ("cancelled", "Cancelled"),
                        ],
                        default="building",
                        max_length=10,
                    ),
                ),
                (
                    "stage",
                    models.CharField(
                        choices=[
                            ("waiting", "Waiting"),
                            ("documents", "Documents"),
                            ("index", "Index"),
                            ("words", "Words"),
                            ("done", "Done"),
                        ],
                        default="waiting",
                        max_length=10,
                    ),
                ),
                ("has_work", models.BooleanField(default=True)),
                ("failures", models.JSONField(default=dict)),
                ("documents_built", models.PositiveIntegerField(default=0)),
                ("chunks_built", models.PositiveIntegerField(default=0)),
                ("seconds_worked", models.FloatField(default=0)),
                ("parity", models.JSONField(null=True)),
                ("attempts", models.PositiveIntegerField(default=0)),
                (
                    "run_after",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                ("lease_until", models.DateTimeField(null=True)),
                ("lease_token", models.UUIDField(null=True)),
                ("worker", models.CharField(blank=True, max_length=100)),
                ("error_code", models.CharField(blank=True, max_length=50)),
                ("error_message", models.TextField(blank=True)),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), editable=False
                    ),
                ),
                ("built_at", models.DateTimeField(null=True)),
                ("switched_at", models.DateTimeField(null=True)),
                ("ended_at", models.DateTimeField(null=True)),
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
                    "profile",
                    models.ForeignKey(
                        help_text="What the namespace is to be indexed under.",
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="documents.indexprofile",
                    ),
                ),
                (
                    "replaces",
                    models.ForeignKey(
                        editable=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="documents.indexprofile",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "reindexes",
                "ordering": ["-created_at"],
                "indexes": [
                    models.Index(fields=["namespace", "-created_at", "-id"], name="reindex_newest"),
                    models.Index(
                        condition=models.Q(("has_work", True)),
                        fields=["run_after"],
                        name="reindex_waiting",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("state__in", ["building", "built", "switched"])),
                        fields=("namespace",),
                        name="reindex_one_open",
                    )
                ],
            },
        ),
        IsolateTenants("documents_reindex", definer_reads=True),
        # Which has work and nobody at it? Only as many at once as may be built at once; a namespace
        # whose profile is not live yet waits longer than one that answers questions meanwhile.
        DefinerFunction(
            "reindexes_due(at_most int)",
            "TABLE (reindex_id uuid, namespace_id uuid)",
            """
            SELECT id, namespace_id FROM documents_reindex
            WHERE has_work AND state IN ('building', 'built', 'switched') AND run_after <= now()
              AND (lease_until IS NULL OR lease_until < now())
              AND (SELECT count(*) FROM documents_reindex WHERE lease_until >= now()) < at_most
            ORDER BY (state = 'building'), run_after LIMIT 16
            """,
        ),
        # Whose builder is dead? The supervisor has buried the worker.
        DefinerFunction(
            "reindexes_of(dead_workers text[])",
            "TABLE (reindex_id uuid, namespace_id uuid)",
            """
            SELECT id, namespace_id FROM documents_reindex
            WHERE lease_until IS NOT NULL AND worker = ANY (dead_workers)
            """,
        ),
        # Which models are or will soon be asked? A web process loads them before that.
        DefinerFunction(
            "profiles_in_use()",
            "TABLE (profile_id uuid)",
            """
            SELECT active_profile_id FROM documents_namespace
            UNION SELECT unnest(ARRAY[profile_id, replaces_id]) FROM documents_reindex
            WHERE state IN ('building', 'built', 'switched')
            """,
        ),
    ]
