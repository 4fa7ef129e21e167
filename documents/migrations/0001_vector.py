"""First of all: pgvector, and the function that names the current tenant."""

from django.db import migrations
from pgvector.django import VectorExtension


class Migration(migrations.Migration):
    initial = True
    dependencies = []

    operations = [
        VectorExtension(),
        # NULLIF: after the first SET LOCAL of a session has ended, the setting reads as ''.
        # Plain SQL and STABLE, so that the planner inlines it into the policies.
        migrations.RunSQL(
            """
            CREATE FUNCTION ragsite.current_namespace() RETURNS uuid
            LANGUAGE sql STABLE PARALLEL SAFE
            AS $$ SELECT NULLIF(current_setting('ragsite.namespace', true), '')::uuid $$
            """,
            "DROP FUNCTION ragsite.current_namespace()",
        ),
    ]
