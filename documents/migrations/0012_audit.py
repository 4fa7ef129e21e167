"""The audit log: append-only for everybody who serves requests or looks at them."""

import uuid

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

from ragsite.isolation import AppendOnly, DefinerFunction, IsolateTenants


class Migration(migrations.Migration):
    dependencies = [("documents", "0010_short_pending_list")]

    operations = [
        migrations.CreateModel(
            name="AuditEvent",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid.uuid4, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(),
                        editable=False,
                        verbose_name="when",
                    ),
                ),
                (
                    "actor_kind",
                    models.CharField(
                        choices=[
                            ("user", "User"),
                            ("key", "Key"),
                            ("command", "Command"),
                            ("system", "System"),
                        ],
                        max_length=10,
                    ),
                ),
                ("actor", models.CharField(blank=True, max_length=200)),
                (
                    "namespace_slug",
                    models.CharField(blank=True, max_length=63, verbose_name="namespace"),
                ),
                ("action", models.CharField(max_length=60)),
                ("target_kind", models.CharField(blank=True, max_length=60)),
                ("target_id", models.CharField(blank=True, max_length=64)),
                ("target_label", models.CharField(blank=True, max_length=200)),
                ("count", models.BigIntegerField(default=1)),
                ("details", models.JSONField(blank=True, default=dict)),
                ("request_id", models.CharField(blank=True, max_length=128)),
                ("address", models.CharField(blank=True, max_length=64)),
                (
                    "namespace",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="documents.namespace",
                    ),
                ),
            ],
            options={
                "ordering": ["-created_at", "-id"],
                "indexes": [
                    models.Index(
                        fields=["namespace", "-created_at", "-id"], name="audit_of_namespace"
                    ),
                    models.Index(fields=["-created_at", "-id"], name="audit_newest"),
                    models.Index(fields=["action", "-created_at"], name="audit_by_action"),
                ],
            },
        ),
        IsolateTenants("documents_auditevent", definer_reads=True),
        AppendOnly("documents_auditevent", "created_at", days=30),
        DefinerFunction(
            "prune_audit_events(older_than_days int)",
            "bigint",
            """
            WITH gone AS (
                DELETE FROM documents_auditevent
                WHERE created_at < now() - make_interval(days => older_than_days)
                RETURNING 1
            )
            SELECT count(*) FROM gone
            """,
            writes=True,
        ),
    ]
