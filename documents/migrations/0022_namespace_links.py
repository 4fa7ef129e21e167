"""Public links of namespaces, behind the tenant wall."""

import uuid

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

from ragsite.database.isolation import IsolateTenants


class Migration(migrations.Migration):
    dependencies = [
        ("documents", "0021_operators_indexes"),
    ]

    operations = [
        migrations.CreateModel(
            name="NamespaceLink",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid.uuid4, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "name",
                    models.CharField(
                        blank=True,
                        help_text="Who has it, e.g. suppliers. Visitors do not see it.",
                        max_length=200,
                    ),
                ),
                ("prefix", models.CharField(editable=False, max_length=16, unique=True)),
                ("secret_sha256", models.CharField(editable=False, max_length=64)),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), editable=False
                    ),
                ),
                (
                    "expires_at",
                    models.DateTimeField(
                        blank=True, help_text="Blank: it works until it is revoked.", null=True
                    ),
                ),
                ("revoked_at", models.DateTimeField(blank=True, editable=False, null=True)),
                ("last_used_at", models.DateTimeField(editable=False, null=True)),
                (
                    "namespace",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="links",
                        to="documents.namespace",
                    ),
                ),
            ],
            options={
                "verbose_name": "public link",
                "ordering": ["-created_at"],
            },
        ),
        IsolateTenants("documents_namespacelink"),
    ]
