"""Conversations and their turns, behind the tenant wall."""

import uuid

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

from ragsite.database.isolation import IsolateTenants


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
        ("documents", "0023_memory"),
    ]

    operations = [
        migrations.CreateModel(
            name="Conversation",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid.uuid4, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("session", models.CharField(max_length=200)),
                ("user", models.CharField(blank=True, db_default="", default="", max_length=200)),
                ("day", models.DateField()),
                ("turns_added", models.PositiveIntegerField(default=0)),
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
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="conversations",
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
            name="Turn",
            fields=[
                ("id", models.UUIDField(editable=False, primary_key=True, serialize=False)),
                (
                    "external_id",
                    models.CharField(blank=True, db_default="", default="", max_length=200),
                ),
                ("number", models.PositiveIntegerField()),
                ("role", models.CharField(max_length=40)),
                (
                    "speaker",
                    models.CharField(blank=True, db_default="", default="", max_length=200),
                ),
                ("content", models.TextField()),
                ("at", models.DateTimeField()),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), editable=False
                    ),
                ),
                (
                    "conversation",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="turns",
                        to="documents.conversation",
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
                "ordering": ["at", "number"],
            },
        ),
        migrations.AddIndex(
            model_name="conversation",
            index=models.Index(
                fields=["namespace", "-created_at", "-id"], name="conversation_newest"
            ),
        ),
        migrations.AddConstraint(
            model_name="conversation",
            constraint=models.UniqueConstraint(
                fields=("namespace", "session", "user", "day"), name="conversation_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="conversation",
            constraint=models.UniqueConstraint(
                fields=("namespace", "id"), name="conversation_in_namespace"
            ),
        ),
        migrations.AddConstraint(
            model_name="conversation",
            constraint=models.UniqueConstraint(
                fields=("namespace", "document"), name="conversation_of_document"
            ),
        ),
        migrations.AddIndex(
            model_name="turn",
            index=models.Index(
                fields=["namespace", "conversation", "at", "number"], name="turn_of_conversation"
            ),
        ),
        migrations.AddIndex(
            model_name="turn",
            index=models.Index(fields=["namespace", "at", "id"], name="turn_dated"),
        ),
        migrations.AddConstraint(
            model_name="turn",
            constraint=models.UniqueConstraint(
                fields=("namespace", "id"), name="turn_in_namespace"
            ),
        ),
        linked("documents_conversation", "document_id", "documents_document"),
        linked("documents_turn", "conversation_id", "documents_conversation"),
        IsolateTenants("documents_conversation"),
        IsolateTenants("documents_turn"),
    ]
