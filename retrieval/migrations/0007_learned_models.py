"""The models of the reranker `learned`, behind the tenant wall."""

import uuid

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

from ragsite.database.isolation import IsolateTenants


class Migration(migrations.Migration):
    dependencies = [
        ("documents", "0022_namespace_links"),
        ("retrieval", "0006_query_log_results"),
    ]

    operations = [
        migrations.CreateModel(
            name="LearnedModel",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid.uuid4, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("model", models.JSONField()),
                ("metrics", models.JSONField()),
                ("training", models.JSONField()),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), editable=False
                    ),
                ),
                (
                    "namespace",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="documents.namespace",
                    ),
                ),
            ],
            options={"ordering": ["-created_at"]},
        ),
        IsolateTenants("retrieval_learnedmodel"),
    ]
