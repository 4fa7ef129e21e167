"""Keys of the whole installation, and the deletion of namespaces with its receipts. Neither table
has a tenant: `migrate` keeps the application role out of both (ragsite/roles.py)."""

import uuid

from django.db import migrations, models
from django.db.models.functions import Now


class Migration(migrations.Migration):
    dependencies = [("documents", "0014_encodings_and_origins")]

    operations = [
        migrations.CreateModel(
            name="NamespaceRemoval",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid.uuid4, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("slug", models.CharField(max_length=63)),
                ("removed_namespace", models.UUIDField(unique=True)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("queued", "Queued"),
                            ("running", "Running"),
                            ("finished", "Finished"),
                        ],
                        default="queued",
                        max_length=10,
                    ),
                ),
                ("requested_by", models.CharField(blank=True, max_length=200)),
                ("created_at", models.DateTimeField(db_default=Now(), editable=False)),
                ("lease_until", models.DateTimeField(editable=False, null=True)),
                ("finished_at", models.DateTimeField(editable=False, null=True)),
                (
                    "rows",
                    models.JSONField(
                        default=dict, help_text="How many rows were removed, by kind."
                    ),
                ),
                (
                    "files",
                    models.BigIntegerField(
                        default=0, help_text="Stored originals that were removed."
                    ),
                ),
                (
                    "files_left",
                    models.JSONField(
                        default=list, help_text="Storage keys that could not be removed."
                    ),
                ),
            ],
            options={"ordering": ["-created_at", "-id"]},
        ),
        migrations.CreateModel(
            name="OperatorKey",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid.uuid4, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("name", models.CharField(blank=True, max_length=200)),
                ("prefix", models.CharField(editable=False, max_length=16, unique=True)),
                ("secret_sha256", models.CharField(editable=False, max_length=64)),
                ("created_at", models.DateTimeField(db_default=Now(), editable=False)),
                ("expires_at", models.DateTimeField(blank=True, null=True)),
                ("revoked_at", models.DateTimeField(blank=True, null=True)),
                ("last_used_at", models.DateTimeField(editable=False, null=True)),
            ],
            options={"verbose_name": "operator key", "ordering": ["-created_at"]},
        ),
        migrations.AddField(
            model_name="namespace",
            name="deleting_since",
            field=models.DateTimeField(editable=False, null=True),
        ),
    ]
