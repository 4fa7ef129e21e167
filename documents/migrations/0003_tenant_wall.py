"""Row-level security on every tenant table, links that cannot cross it, and the few functions
that may look past it: they return ids and never content."""

from django.db import migrations

from ragsite.database.isolation import DefinerFunction, IsolateTenants


def linked(table: str, column: str, target: str) -> migrations.RunSQL:
    """A foreign key that carries the namespace: plain ones ignore row-level security."""
    name = f"{table}_{column}_same_namespace"
    return migrations.RunSQL(
        f"ALTER TABLE {table} ADD CONSTRAINT {name} FOREIGN KEY (namespace_id, {column}) "
        f"REFERENCES {target} (namespace_id, id) ON DELETE CASCADE",
        f"ALTER TABLE {table} DROP CONSTRAINT {name}",
    )


class Migration(migrations.Migration):
    dependencies = [("documents", "0002_models")]

    operations = [
        linked("documents_documentversion", "document_id", "documents_document"),
        linked("documents_chunk", "document_id", "documents_document"),
        linked("documents_chunk", "version_id", "documents_documentversion"),
        linked("documents_ingestjob", "document_id", "documents_document"),
        linked("documents_ingestjob", "version_id", "documents_documentversion"),
        linked("documents_embeddingcache", "document_id", "documents_document"),
        IsolateTenants("documents_namespace", "id", definer_reads=True),
        IsolateTenants("documents_apikey", definer_reads=True),
        IsolateTenants("documents_document", definer_reads=True),
        IsolateTenants("documents_documentversion"),
        IsolateTenants("documents_chunk", definer_reads=True),
        IsolateTenants("documents_ingestjob", definer_reads=True),
        IsolateTenants("documents_embeddingcache"),
        # Who is calling? No tenant is known yet. Unlocks nothing without the key's secret.
        DefinerFunction(
            "find_api_key(wanted text)",
            "TABLE (key_id uuid, namespace_id uuid, secret_sha256 text, scopes text[], "
            "expires_at timestamptz, revoked_at timestamptz, last_used_at timestamptz)",
            """
            SELECT id, namespace_id, secret_sha256::text, scopes::text[],
                   expires_at, revoked_at, last_used_at
            FROM documents_apikey WHERE prefix = wanted
            """,
        ),
        # What next? Fair between tenants: fewest jobs running first, then longest not served.
        DefinerFunction(
            "next_jobs(at_most int)",
            "TABLE (job_id uuid, namespace_id uuid)",
            """
            SELECT job.id, tenant.id
            FROM documents_namespace tenant
            CROSS JOIN LATERAL (
                SELECT id, run_after FROM documents_ingestjob
                WHERE namespace_id = tenant.id AND state = 'queued' AND run_after <= now()
                ORDER BY run_after LIMIT 4
            ) job
            ORDER BY
                (SELECT count(*) FROM documents_ingestjob
                 WHERE namespace_id = tenant.id AND state = 'running'),
                (SELECT max(started_at) FROM documents_ingestjob
                 WHERE namespace_id = tenant.id) NULLS FIRST,
                job.run_after
            LIMIT at_most
            """,
        ),
        # Whose worker died? Their lease has run out, or the supervisor has buried the worker.
        DefinerFunction(
            "stalled_jobs(dead_workers text[])",
            "TABLE (job_id uuid, namespace_id uuid)",
            """
            SELECT id, namespace_id FROM documents_ingestjob
            WHERE state = 'running' AND (lease_until < now() OR worker = ANY (dead_workers))
            """,
        ),
        # How many bells should be ringing? Jobs that have been due for a while, up to a bound.
        DefinerFunction(
            "jobs_overdue(seconds float8, at_most int)",
            "bigint",
            """
            SELECT count(*) FROM (
                SELECT FROM documents_ingestjob
                WHERE state = 'queued' AND run_after < now() - make_interval(secs => seconds)
                LIMIT at_most
            ) overdue
            """,
        ),
        DefinerFunction(
            "namespace_ids()", "TABLE (namespace_id uuid)", "SELECT id FROM documents_namespace"
        ),
    ]
