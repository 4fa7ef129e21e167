"""The audit log, append-only for everybody who serves requests or looks at them; failed logins,
counted; and deletions of many documents, done in the background."""

import uuid

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

from ragsite.database.isolation import AppendOnly, DefinerFunction, IsolateTenants


class Migration(migrations.Migration):
    dependencies = [("documents", "0011_limits")]

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
        migrations.CreateModel(
            name="LoginThrottle",
            fields=[
                ("key", models.CharField(max_length=400, primary_key=True, serialize=False)),
                ("failures", models.PositiveIntegerField(default=0)),
                (
                    "locks",
                    models.PositiveIntegerField(
                        default=0, help_text="In a row: each lasts longer."
                    ),
                ),
                ("locked_until", models.DateTimeField(null=True)),
                (
                    "last_attempt_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                ("last_success_at", models.DateTimeField(null=True)),
            ],
            options={
                "default_permissions": ("view",),
            },
        ),
        migrations.CreateModel(
            name="DocumentRemoval",
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
                        choices=[("queued", "Queued"), ("running", "Running"), ("done", "Done")],
                        default="queued",
                        max_length=10,
                    ),
                ),
                (
                    "document_ids",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.UUIDField(), size=None
                    ),
                ),
                ("total", models.PositiveIntegerField()),
                ("removed", models.PositiveIntegerField(default=0)),
                ("failed", models.PositiveIntegerField(default=0)),
                ("chunks", models.BigIntegerField(default=0)),
                ("files", models.BigIntegerField(default=0)),
                ("files_left", models.BigIntegerField(default=0)),
                ("actor_kind", models.CharField(max_length=10)),
                ("actor", models.CharField(blank=True, max_length=200, verbose_name="asked by")),
                ("address", models.CharField(blank=True, max_length=64)),
                ("request_id", models.CharField(blank=True, max_length=128)),
                ("lease_until", models.DateTimeField(null=True)),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), editable=False
                    ),
                ),
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
            ],
            options={
                "verbose_name": "deletion of documents",
                "verbose_name_plural": "deletions of documents",
                "ordering": ["-created_at", "-id"],
                "indexes": [
                    models.Index(fields=["namespace", "-created_at"], name="removal_newest"),
                    models.Index(
                        condition=models.Q(("state", "done"), _negated=True),
                        fields=["created_at"],
                        name="removal_open",
                    ),
                ],
            },
        ),
        IsolateTenants("documents_documentremoval", definer_reads=True),
        DefinerFunction(
            "open_removals(at_most int)",
            "TABLE (removal_id uuid, namespace_id uuid)",
            """
            SELECT id, namespace_id FROM documents_documentremoval
            WHERE state <> 'done' AND (lease_until IS NULL OR lease_until <= now())
            ORDER BY created_at LIMIT at_most
            """,
        ),
    ]
