"""Which namespaces a user sees. Staff who saw all of them until now still do."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

from ragsite.database.isolation import IsolateTenants

KEEP_STAFF_UNLIMITED = """
    INSERT INTO documents_namespaceaccess (user_id, namespace_id)
    SELECT id, NULL FROM auth_user WHERE is_staff AND NOT is_superuser
"""


class Migration(migrations.Migration):
    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("documents", "0020_collections"),
    ]

    operations = [
        migrations.CreateModel(
            name="NamespaceAccess",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
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
                        blank=True,
                        help_text="Blank: every namespace, also those that are added later.",
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="documents.namespace",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="namespace_access",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "verbose_name": "namespace a user sees",
                "verbose_name_plural": "namespaces a user sees",
            },
        ),
        migrations.AddConstraint(
            model_name="namespaceaccess",
            constraint=models.UniqueConstraint(
                fields=("user", "namespace"), name="access_given_once", nulls_distinct=False
            ),
        ),
        migrations.RunSQL(KEEP_STAFF_UNLIMITED, migrations.RunSQL.noop),
        IsolateTenants("documents_namespaceaccess"),
    ]
