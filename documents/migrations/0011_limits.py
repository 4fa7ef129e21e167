"""Limits on requests of each key, and quotas of what each namespace holds."""

import django.db.models.deletion
from django.db import migrations, models

import documents.models.namespaces
from ragsite.database.isolation import DefinerFunction, IsolateTenants, role

QUOTA = "Blank: the installation's own quota. 0: none."

# Without a log of its changes: a crash forgets the last minute's requests, and no request waits
# for the disk. The spare room lets a row be counted up in place.
REQUEST_COUNTS = """
    CREATE UNLOGGED TABLE documents_requestcount (
        bucket text PRIMARY KEY,
        time_window bigint NOT NULL,
        previous integer NOT NULL,
        current integer NOT NULL,
        expires_at timestamptz NOT NULL
    ) WITH (fillfactor = 50)
"""

# Statement triggers, so that a cascade of thousands of rows is one update.
COUNT_ADDED = """
    CREATE FUNCTION ragsite.add_to_usage() RETURNS trigger LANGUAGE plpgsql
    SET search_path = pg_catalog, public, pg_temp AS $body$
    BEGIN
        IF TG_TABLE_NAME = 'documents_document' THEN
            INSERT INTO documents_namespaceusage AS known (namespace_id, documents, bytes)
            SELECT namespace_id, count(*), 0 FROM changed
            GROUP BY namespace_id ORDER BY namespace_id
            ON CONFLICT (namespace_id) DO UPDATE
            SET documents = known.documents + excluded.documents;
        ELSE
            INSERT INTO documents_namespaceusage AS known (namespace_id, documents, bytes)
            SELECT namespace_id, 0, sum(byte_size) FROM changed
            GROUP BY namespace_id ORDER BY namespace_id
            ON CONFLICT (namespace_id) DO UPDATE SET bytes = known.bytes + excluded.bytes;
        END IF;
        RETURN NULL;
    END
    $body$
"""
COUNT_REMOVED = """
    CREATE FUNCTION ragsite.take_from_usage() RETURNS trigger LANGUAGE plpgsql
    SET search_path = pg_catalog, public, pg_temp AS $body$
    BEGIN
        IF TG_TABLE_NAME = 'documents_document' THEN
            UPDATE documents_namespaceusage known SET documents = known.documents - gone.documents
            FROM (SELECT namespace_id, count(*) AS documents FROM changed GROUP BY 1) gone
            WHERE known.namespace_id = gone.namespace_id;
        ELSE
            UPDATE documents_namespaceusage known SET bytes = known.bytes - gone.bytes
            FROM (SELECT namespace_id, sum(byte_size) AS bytes FROM changed GROUP BY 1) gone
            WHERE known.namespace_id = gone.namespace_id;
        END IF;
        RETURN NULL;
    END
    $body$
"""
COUNT_PRESENT = """
    INSERT INTO documents_namespaceusage (namespace_id, documents, bytes)
    SELECT tenant.id,
           (SELECT count(*) FROM documents_document WHERE namespace_id = tenant.id),
           coalesce((SELECT sum(byte_size) FROM documents_documentversion
                     WHERE namespace_id = tenant.id), 0)
    FROM documents_namespace tenant
"""


def counted(table: str) -> migrations.RunSQL:
    return migrations.RunSQL(
        f"CREATE TRIGGER usage_added AFTER INSERT ON {table} REFERENCING NEW TABLE AS changed "
        "FOR EACH STATEMENT EXECUTE FUNCTION ragsite.add_to_usage();"
        f"CREATE TRIGGER usage_removed AFTER DELETE ON {table} REFERENCING OLD TABLE AS changed "
        "FOR EACH STATEMENT EXECUTE FUNCTION ragsite.take_from_usage();",
        f"DROP TRIGGER usage_added ON {table}; DROP TRIGGER usage_removed ON {table};",
    )


class Migration(migrations.Migration):
    dependencies = [("documents", "0010_short_pending_list")]

    operations = [
        migrations.AddField(
            model_name="apikey",
            name="limits",
            field=models.JSONField(
                blank=True,
                default=dict,
                help_text="Requests a minute by class where they differ from the installation's, "
                'e.g. {"search": 600, "ingest": 0}; 0: no limit.',
                validators=[documents.models.namespaces.validate_limits],
            ),
        ),
        migrations.AddField(
            model_name="namespace",
            name="max_documents",
            field=models.PositiveBigIntegerField(blank=True, help_text=QUOTA, null=True),
        ),
        migrations.AddField(
            model_name="namespace",
            name="max_bytes",
            field=models.PositiveBigIntegerField(
                blank=True,
                help_text=f"Of the stored originals of all versions. {QUOTA}",
                null=True,
            ),
        ),
        migrations.AddField(
            model_name="namespace",
            name="max_chunks",
            field=models.PositiveBigIntegerField(blank=True, help_text=QUOTA, null=True),
        ),
        migrations.CreateModel(
            name="NamespaceUsage",
            fields=[
                (
                    "namespace",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="usage",
                        serialize=False,
                        to="documents.namespace",
                    ),
                ),
                ("documents", models.BigIntegerField(default=0)),
                ("bytes", models.BigIntegerField(default=0)),
            ],
        ),
        IsolateTenants("documents_namespaceusage"),
        migrations.RunSQL(COUNT_ADDED, "DROP FUNCTION ragsite.add_to_usage()"),
        migrations.RunSQL(COUNT_REMOVED, "DROP FUNCTION ragsite.take_from_usage()"),
        counted("documents_document"),
        counted("documents_documentversion"),
        # After the triggers, which nobody who writes gets past until all of this is there.
        migrations.RunSQL(COUNT_PRESENT, migrations.RunSQL.noop),
        migrations.RunSQL(REQUEST_COUNTS, "DROP TABLE documents_requestcount"),
        migrations.RunSQL(
            f"GRANT SELECT, INSERT, UPDATE, DELETE ON documents_requestcount TO {role('definer')};"
            f"REVOKE ALL ON documents_requestcount FROM {role('app')};",
            migrations.RunSQL.noop,
        ),
        # May one more request pass? If so it is counted. The clock is the database's; a row that is
        # ahead of it by a window was written by somebody who waited less long for the row.
        DefinerFunction(
            "count_request(wanted text, request_limit int, seconds float8)",
            "TABLE (is_allowed boolean, previous int, current int, elapsed float8)",
            """
            #variable_conflict use_column
            DECLARE
                windows float8 := extract(epoch FROM clock_timestamp()) / seconds;
                this_window bigint := floor(windows);
                counted documents_requestcount;
                fits boolean;
            BEGIN
                INSERT INTO documents_requestcount AS known
                    (bucket, time_window, previous, current, expires_at)
                VALUES (wanted, this_window, 0, 1,
                        clock_timestamp() + make_interval(secs => 2 * seconds))
                ON CONFLICT (bucket) DO UPDATE SET
                    previous = CASE
                        WHEN known.time_window - this_window IN (0, 1) THEN known.previous
                        WHEN known.time_window = this_window - 1 THEN known.current
                        ELSE 0 END,
                    current = CASE
                        WHEN known.time_window - this_window IN (0, 1) THEN known.current + 1
                        ELSE 1 END,
                    time_window = CASE
                        WHEN known.time_window = this_window + 1 THEN known.time_window
                        ELSE this_window END,
                    expires_at = excluded.expires_at
                RETURNING * INTO counted;
                fits := counted.previous * (1 - (windows - this_window)) + counted.current
                        <= request_limit;
                IF NOT fits THEN
                    UPDATE documents_requestcount AS known SET current = known.current - 1
                    WHERE known.bucket = wanted;
                    counted.current := counted.current - 1;
                END IF;
                RETURN QUERY
                SELECT fits, counted.previous, counted.current, windows - this_window;
            END
            """,
            language="plpgsql",
            writes=True,
        ),
        # Who is calling, and may they? No tenant is known yet. It unlocks nothing, and counts
        # nothing, without the key's secret. (find_api_key, which it replaces, stays for processes
        # of the release before, until they are restarted.)
        DefinerFunction(
            "open_api_key(wanted text, digest text, rate_class text, usual_limit int, "
            "seconds float8, counts boolean)",
            "TABLE (key_id uuid, namespace_id uuid, secret_sha256 text, scopes text[], "
            "expires_at timestamptz, revoked_at timestamptz, last_used_at timestamptz, "
            "request_limit int, is_allowed boolean, previous int, current int, elapsed float8)",
            """
            #variable_conflict use_column
            DECLARE
                known documents_apikey;
            BEGIN
                SELECT * INTO known FROM documents_apikey WHERE prefix = wanted;
                IF NOT FOUND THEN
                    RETURN;
                END IF;
                key_id := known.id;
                namespace_id := known.namespace_id;
                secret_sha256 := known.secret_sha256;
                scopes := known.scopes;
                expires_at := known.expires_at;
                revoked_at := known.revoked_at;
                last_used_at := known.last_used_at;
                request_limit := coalesce((known.limits ->> rate_class)::int, usual_limit);
                IF counts AND request_limit > 0 AND known.secret_sha256 = digest THEN
                    SELECT counted.is_allowed, counted.previous, counted.current, counted.elapsed
                    INTO is_allowed, previous, current, elapsed
                    FROM ragsite.count_request(
                        'key/' || known.id || '/' || rate_class, request_limit, seconds
                    ) counted;
                END IF;
                RETURN NEXT;
            END
            """,
            language="plpgsql",
            writes=True,
        ),
        DefinerFunction(
            "forget_request_counts()",
            "bigint",
            """
            DECLARE
                forgotten bigint;
            BEGIN
                DELETE FROM documents_requestcount WHERE expires_at < clock_timestamp();
                GET DIAGNOSTICS forgotten = ROW_COUNT;
                RETURN forgotten;
            END
            """,
            language="plpgsql",
            writes=True,
        ),
    ]
