"""Requests with an Idempotency-Key and their answers, behind the tenant wall."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

from ragsite.database.isolation import IsolateTenants


class Migration(migrations.Migration):
    dependencies = [
        ("documents", "0027_put_off_removals"),
    ]

    operations = [
        migrations.CreateModel(
            name="IdempotentRequest",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("caller", models.UUIDField()),
                ("key", models.CharField(max_length=255)),
                ("fingerprint", models.CharField(max_length=64)),
                ("status", models.PositiveSmallIntegerField(null=True)),
                ("answer", models.JSONField(null=True)),
                (
                    "document_ids",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.UUIDField(), default=list, size=None
                    ),
                ),
                ("lease_token", models.UUIDField()),
                ("lease_until", models.DateTimeField(null=True)),
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
                "indexes": [
                    models.Index(fields=["namespace", "created_at"], name="idempotent_request_age")
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("namespace", "caller", "key"), name="idempotent_request_once"
                    )
                ],
            },
        ),
        IsolateTenants("documents_idempotentrequest"),
    ]
