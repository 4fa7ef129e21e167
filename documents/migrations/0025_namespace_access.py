"""Which namespaces a user sees. Staff who saw all of them until now still do."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

from ragsite.database.isolation import IsolateTenants

# The permission itself is otherwise made after all migrations.
KEEP_STAFF_UNLIMITED = """
    INSERT INTO auth_permission (content_type_id, codename, name)
    SELECT id, 'see_every_namespace', 'Sees every namespace, also those added later'
    FROM django_content_type WHERE app_label = 'documents' AND model = 'namespace'
    ON CONFLICT DO NOTHING;
    INSERT INTO auth_user_user_permissions (user_id, permission_id)
    SELECT u.id, p.id FROM auth_user u CROSS JOIN auth_permission p
    WHERE u.is_staff AND NOT u.is_superuser AND p.codename = 'see_every_namespace'
    ON CONFLICT DO NOTHING
"""


class Migration(migrations.Migration):
    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("contenttypes", "0002_remove_content_type_name"),
        ("documents", "0024_conversations"),
    ]

    operations = [
        migrations.AlterModelOptions(
            name="namespace",
            options={
                "ordering": ["slug"],
                "permissions": [
                    ("see_every_namespace", "Sees every namespace, also those added later")
                ],
            },
        ),
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
                fields=("user", "namespace"), name="access_given_once"
            ),
        ),
        migrations.RunSQL(KEEP_STAFF_UNLIMITED, migrations.RunSQL.noop),
        IsolateTenants("documents_namespaceaccess"),
    ]
