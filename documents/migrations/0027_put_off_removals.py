"""Files to be removed after a backup, and which database this is, to notice a restored one."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

from ragsite.database.isolation import IsolateTenants

IDENTIFY = """
    INSERT INTO documents_databaseidentity (id, identity)
    SELECT 1, concat_ws('/', system_identifier, oid, timeline_id)
    FROM pg_control_system(), pg_control_checkpoint(), pg_database
    WHERE datname = current_database()
"""


class Migration(migrations.Migration):
    dependencies = [
        ("documents", "0026_newest_jobs_of_all"),
    ]

    operations = [
        migrations.CreateModel(
            name="DatabaseIdentity",
            fields=[
                (
                    "id",
                    models.PositiveSmallIntegerField(default=1, primary_key=True, serialize=False),
                ),
                ("identity", models.CharField(max_length=200)),
                ("restored_at", models.DateTimeField(null=True)),
            ],
            options={
                "verbose_name_plural": "database identities",
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("pk", 1)), name="database_identity_one_row"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="PutOffRemoval",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("storage_key", models.TextField(unique=True)),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), editable=False
                    ),
                ),
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
                "verbose_name": "file to be removed after a backup",
                "verbose_name_plural": "files to be removed after a backup",
            },
        ),
        IsolateTenants("documents_putoffremoval"),
        migrations.RunSQL(IDENTIFY, migrations.RunSQL.noop),
    ]
