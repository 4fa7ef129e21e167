"""Collections of documents, behind the tenant wall."""

import uuid

import django.contrib.postgres.fields
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
        ("documents", "0019_language_model_usage"),
    ]

    operations = [
        migrations.CreateModel(
            name="Collection",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid.uuid4, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("name", models.CharField(max_length=256, null=True)),
                ("description", models.TextField(blank=True, db_default="", default="")),
                ("metadata", models.JSONField(blank=True, default=dict)),
                ("expires_after_days", models.PositiveIntegerField(null=True)),
                (
                    "last_active_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), editable=False
                    ),
                ),
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
        ),
        migrations.CreateModel(
            name="CollectionBatch",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid.uuid4, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "document_ids",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.UUIDField(), size=None
                    ),
                ),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), editable=False
                    ),
                ),
                ("cancelled_at", models.DateTimeField(null=True)),
                (
                    "collection",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="batches",
                        to="documents.collection",
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
                "verbose_name_plural": "collection batches",
            },
        ),
        migrations.CreateModel(
            name="CollectionDocument",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid.uuid4, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("attributes", models.JSONField(blank=True, default=dict)),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), editable=False
                    ),
                ),
                (
                    "collection",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="memberships",
                        to="documents.collection",
                    ),
                ),
                (
                    "document",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="memberships",
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
        migrations.AddIndex(
            model_name="collection",
            index=models.Index(
                fields=["namespace", "-created_at", "-id"], name="collection_newest"
            ),
        ),
        migrations.AddConstraint(
            model_name="collection",
            constraint=models.UniqueConstraint(
                fields=("namespace", "name"), name="collection_name_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="collection",
            constraint=models.UniqueConstraint(
                fields=("namespace", "id"), name="collection_in_namespace"
            ),
        ),
        migrations.AddIndex(
            model_name="collectionbatch",
            index=models.Index(
                fields=["namespace", "collection", "-created_at"], name="collection_batch_newest"
            ),
        ),
        migrations.AddIndex(
            model_name="collectiondocument",
            index=models.Index(fields=["namespace", "document"], name="collection_of_document"),
        ),
        migrations.AddIndex(
            model_name="collectiondocument",
            index=models.Index(
                fields=["namespace", "collection", "-created_at", "-id"],
                name="collection_member_newest",
            ),
        ),
        migrations.AddConstraint(
            model_name="collectiondocument",
            constraint=models.UniqueConstraint(
                fields=("namespace", "collection", "document"), name="collection_document_once"
            ),
        ),
        linked("documents_collectiondocument", "collection_id", "documents_collection"),
        linked("documents_collectiondocument", "document_id", "documents_document"),
        linked("documents_collectionbatch", "collection_id", "documents_collection"),
        IsolateTenants("documents_collection"),
        IsolateTenants("documents_collectiondocument"),
        IsolateTenants("documents_collectionbatch"),
    ]
