"""Webhooks: endpoints, events and deliveries, behind the tenant wall."""

import uuid

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

from ragsite.database.isolation import IsolateTenants
from ragsite.database.sql_functions import SqlFunction


def linked(table: str, column: str, target: str) -> migrations.RunSQL:
    """A foreign key that carries the namespace: plain ones ignore row-level security."""
    name = f"{table}_{column}_same_namespace"
    return migrations.RunSQL(
        f"ALTER TABLE {table} ADD CONSTRAINT {name} FOREIGN KEY (namespace_id, {column}) "
        f"REFERENCES {target} (namespace_id, id) ON DELETE CASCADE",
        f"ALTER TABLE {table} DROP CONSTRAINT {name}",
    )


class Migration(migrations.Migration):
    dependencies = [
        ("documents", "0028_idempotent_requests"),
    ]

    operations = [
        migrations.CreateModel(
            name="WebhookEndpoint",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid.uuid4, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "url",
                    models.CharField(
                        help_text="Where events are sent, by POST. It has to be public.",
                        max_length=2000,
                        verbose_name="URL",
                    ),
                ),
                ("description", models.CharField(blank=True, default="", max_length=200)),
                (
                    "events",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(
                            choices=[
                                ("document.ready", "Document Ready"),
                                ("document.failed", "Document Failed"),
                                ("reindex.finished", "Reindex Finished"),
                                ("evaluation.finished", "Evaluation Finished"),
                                ("webhook.test", "Test"),
                            ],
                            max_length=40,
                        ),
                        blank=True,
                        default=list,
                        help_text="Which events are sent; none chosen: all of them.",
                        size=None,
                    ),
                ),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("enabled", "Enabled"),
                            ("disabled", "Disabled"),
                            ("failing", "disabled, it kept failing"),
                        ],
                        default="enabled",
                        max_length=10,
                    ),
                ),
                ("secret", models.TextField(editable=False)),
                ("previous_secret", models.TextField(blank=True, default="", editable=False)),
                ("previous_secret_until", models.DateTimeField(editable=False, null=True)),
                ("failures", models.PositiveIntegerField(default=0, editable=False)),
                ("failing_since", models.DateTimeField(editable=False, null=True)),
                ("paused_until", models.DateTimeField(editable=False, null=True)),
                ("last_delivered_at", models.DateTimeField(editable=False, null=True)),
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
                "verbose_name": "webhook",
                "ordering": ["-created_at"],
            },
        ),
        migrations.CreateModel(
            name="WebhookEvent",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid.uuid4, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "type",
                    models.CharField(
                        choices=[
                            ("document.ready", "Document Ready"),
                            ("document.failed", "Document Failed"),
                            ("reindex.finished", "Reindex Finished"),
                            ("evaluation.finished", "Evaluation Finished"),
                            ("webhook.test", "Test"),
                        ],
                        max_length=40,
                    ),
                ),
                ("body", models.TextField()),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), editable=False
                    ),
                ),
                (
                    "document",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
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
            ],
        ),
        migrations.CreateModel(
            name="WebhookDelivery",
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
                            ("pending", "Pending"),
                            ("delivered", "Delivered"),
                            ("failed", "Failed"),
                        ],
                        default="pending",
                        max_length=10,
                    ),
                ),
                ("attempts", models.PositiveIntegerField(default=0)),
                ("retries", models.PositiveIntegerField(default=0)),
                (
                    "run_after",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                ("lease_until", models.DateTimeField(null=True)),
                ("lease_token", models.UUIDField(null=True)),
                ("response_status", models.PositiveSmallIntegerField(null=True)),
                ("response_body", models.TextField(blank=True, default="")),
                ("error_code", models.CharField(blank=True, default="", max_length=50)),
                ("error_message", models.TextField(blank=True, default="")),
                ("duration_ms", models.FloatField(null=True)),
                ("attempted_at", models.DateTimeField(null=True)),
                ("delivered_at", models.DateTimeField(null=True)),
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
                    "endpoint",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="deliveries",
                        to="documents.webhookendpoint",
                    ),
                ),
                (
                    "event",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="deliveries",
                        to="documents.webhookevent",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "webhook deliveries",
                "ordering": ["-created_at"],
            },
        ),
        migrations.AddIndex(
            model_name="webhookendpoint",
            index=models.Index(fields=["namespace", "-created_at", "-id"], name="webhook_newest"),
        ),
        migrations.AddConstraint(
            model_name="webhookendpoint",
            constraint=models.UniqueConstraint(
                fields=("namespace", "id"), name="webhook_in_namespace"
            ),
        ),
        migrations.AddIndex(
            model_name="webhookevent",
            index=models.Index(fields=["namespace", "created_at"], name="webhook_event_age"),
        ),
        migrations.AddIndex(
            model_name="webhookevent",
            index=models.Index(
                condition=models.Q(("document__isnull", False)),
                fields=["namespace", "document"],
                name="webhook_event_of_document",
            ),
        ),
        migrations.AddConstraint(
            model_name="webhookevent",
            constraint=models.UniqueConstraint(
                fields=("namespace", "id"), name="webhook_event_in_namespace"
            ),
        ),
        migrations.AddIndex(
            model_name="webhookdelivery",
            index=models.Index(
                fields=["namespace", "endpoint", "-created_at", "-id"],
                name="webhook_delivery_newest",
            ),
        ),
        migrations.AddIndex(
            model_name="webhookdelivery",
            index=models.Index(fields=["namespace", "event"], name="webhook_delivery_of_event"),
        ),
        migrations.AddIndex(
            model_name="webhookdelivery",
            index=models.Index(
                condition=models.Q(("state", "pending")),
                fields=["endpoint", "run_after"],
                name="webhook_delivery_due",
            ),
        ),
        migrations.AddIndex(
            model_name="webhookdelivery",
            index=models.Index(
                condition=models.Q(("lease_until__isnull", False)),
                fields=["lease_until"],
                name="webhook_delivery_leased",
            ),
        ),
        migrations.AddIndex(
            model_name="webhookdelivery",
            index=models.Index(fields=["-created_at"], name="webhook_delivery_all"),
        ),
        linked("documents_webhookevent", "document_id", "documents_document"),
        linked("documents_webhookdelivery", "endpoint_id", "documents_webhookendpoint"),
        linked("documents_webhookdelivery", "event_id", "documents_webhookevent"),
        IsolateTenants("documents_webhookendpoint", definer_reads=True),
        IsolateTenants("documents_webhookevent"),
        IsolateTenants("documents_webhookdelivery", definer_reads=True),
        SqlFunction("documents", "0029_webhooks_due.sql"),
    ]
