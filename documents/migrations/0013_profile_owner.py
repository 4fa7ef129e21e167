"""Profiles of one namespace: no other tenant sees them, or learns that a name is taken."""

import django.db.models.deletion
from django.db import migrations, models

from ragsite.database.isolation import DefinerFunction, IsolateTenants

# Nobody wrote down who made a profile: what one namespace alone uses is taken for its own.
ASSIGN_TO_ONLY_USER = """
    UPDATE documents_indexprofile SET namespace_id = used.tenant
    FROM (
        SELECT profile_id, min(tenant::text)::uuid AS tenant
        FROM (
            SELECT active_profile_id AS profile_id, id AS tenant FROM documents_namespace
            UNION SELECT profile_id, namespace_id FROM documents_reindex
            UNION SELECT replaces_id, namespace_id FROM documents_reindex
        ) uses
        GROUP BY profile_id HAVING count(*) = 1
    ) used
    WHERE id = used.profile_id AND id <> '5f0b7d5e-6c1a-5b8e-9d5c-2f4d3c1b0a01'
"""

SHARED_OR_USED = """
    namespace_id IS NULL
    OR EXISTS (
        SELECT FROM documents_namespace tenant
        WHERE tenant.id = ragsite.current_namespace()
          AND tenant.active_profile_id = documents_indexprofile.id
    )
    OR EXISTS (
        SELECT FROM documents_reindex move
        WHERE move.namespace_id = ragsite.current_namespace()
          AND documents_indexprofile.id IN (move.profile_id, move.replaces_id)
    )
"""


class Migration(migrations.Migration):
    dependencies = [("documents", "0012_audit")]

    operations = [
        migrations.AddField(
            model_name="indexprofile",
            name="namespace",
            field=models.ForeignKey(
                blank=True,
                db_constraint=False,
                help_text="Only this namespace sees it; left empty, all of them do.",
                null=True,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                to="documents.namespace",
            ),
        ),
        migrations.RunSQL(ASSIGN_TO_ONLY_USER, migrations.RunSQL.noop),
        migrations.AlterField(model_name="indexprofile", name="name", field=models.SlugField()),
        migrations.AddConstraint(
            model_name="indexprofile",
            constraint=models.UniqueConstraint(
                fields=("namespace", "name"), name="profile_name_once", nulls_distinct=False
            ),
        ),
        IsolateTenants("documents_indexprofile", definer_reads=True, also_visible=SHARED_OR_USED),
        # Which models should a web process have loaded? Names of settings, no profile's own.
        DefinerFunction(
            "embedders_in_use()",
            "TABLE (embedder text)",
            """
            SELECT DISTINCT embedder::text FROM documents_indexprofile
            WHERE id IN (SELECT profile_id FROM ragsite.profiles_in_use())
            """,
        ),
    ]
