"""The query log, behind the tenant wall."""

import uuid

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

from ragsite.database.isolation import IsolateTenants


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("documents", "0007_chunkers"),
        ("retrieval", "0002_bm25_candidates"),
    ]

    operations = [
        migrations.CreateModel(
            name="QueryLog",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid.uuid4, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("request_id", models.CharField(blank=True, max_length=128)),
                ("query", models.TextField()),
                ("filters", models.JSONField(default=dict)),
                ("options", models.JSONField(default=dict)),
                ("hits", models.PositiveIntegerField()),
                ("best_vector", models.FloatField(null=True)),
                ("best_lexical", models.FloatField(null=True)),
                ("cache", models.CharField(max_length=10)),
                ("fallbacks", models.JSONField(default=list)),
                ("times_ms", models.JSONField(default=dict)),
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
            ],
            options={
                "verbose_name_plural": "query log",
                "ordering": ["-created_at"],
                "indexes": [
                    models.Index(
                        fields=["namespace", "-created_at", "-id"], name="query_log_newest"
                    )
                ],
            },
        ),
        IsolateTenants("retrieval_querylog"),
    ]
