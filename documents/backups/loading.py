"""Load a dump in one transaction: either the whole backup is restored, or nothing has changed."""

import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, cast

from django.db import connections
from psycopg import sql

from ragsite.database import roles

from . import programs
from .errors import BackupFailed, RestoreRefused
from .manifest import DUMP, Manifest
from .role_names import renamed
from .snapshot import own_tables, role_names

# `migrate` creates these, with this server's names and rights.
_LEFT_OUT = re.compile(
    r"^\d+; \d+ \d+ (SCHEMA|EXTENSION|DEFAULT ACL|ACL - SCHEMA|COMMENT - (SCHEMA|EXTENSION))\b"
)
_BEFORE = """
BEGIN;
SET LOCAL statement_timeout = 0;
SET LOCAL lock_timeout = '60s';
DROP SCHEMA IF EXISTS ragsite CASCADE;
{drop_tables}
CREATE SCHEMA ragsite;
GRANT USAGE ON SCHEMA ragsite TO {app}, {operator}, {definer};
GRANT CREATE ON SCHEMA ragsite TO {definer};
"""
# Release work in progress, because the workers that held it are gone.
_AFTER = """
SET row_security = on;
{counts}
DO $free$ DECLARE leased record; BEGIN
    FOR leased IN SELECT table_name FROM information_schema.columns
        WHERE table_schema = 'public' AND column_name = 'lease_until' LOOP
        EXECUTE format('UPDATE public.%I SET lease_until = NULL WHERE lease_until IS NOT NULL',
                       leased.table_name);
    END LOOP;
    UPDATE public.documents_ingestjob SET lease_until = now() WHERE state = 'running';
END $free$;
COMMIT;
"""
_COUNT = """
DO $count$ BEGIN
    IF (SELECT count(*) FROM public.{table}) <> {count} THEN
        RAISE EXCEPTION 'the backup has {count} rows of {name}, and not as many were restored';
    END IF;
END $count$;
"""


def load(folder: Path, manifest: Manifest) -> None:
    """Replace this server's tables by those of the dump. Raises RestoreRefused if nothing has
    changed."""
    owner = connections["owner"]
    with owner.cursor() as cursor:
        cursor.execute("SELECT current_setting('server_version_num')::int")
        server_major = cursor.fetchone()[0] // 10000
    try:
        found = programs.find(max(server_major, int(manifest.postgres.split(".")[0])))
    except BackupFailed as error:
        raise RestoreRefused(str(error)) from None
    roles.provision(owner)
    with owner.cursor() as cursor:
        cursor.execute("CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA public")
    before, after = _before(), _after(manifest)
    for alias in connections:
        connections[alias].close()
    with tempfile.TemporaryFile() as errors:
        _run(folder / DUMP, manifest, found, before, after, errors)


def _before() -> bytes:
    connection = connections["owner"].connection
    names = {kind: sql.Identifier(name) for kind, name in role_names().items()}
    tables = sql.SQL("\n").join(
        sql.SQL("DROP TABLE IF EXISTS public.{} CASCADE;").format(sql.Identifier(table))
        for table in sorted(own_tables())
    )
    return sql.SQL(_BEFORE).format(drop_tables=tables, **names).as_bytes(connection)


def _after(manifest: Manifest) -> bytes:
    connection = connections["owner"].connection
    counts = sql.SQL("").join(
        sql.SQL(_COUNT).format(
            table=sql.Identifier(table),
            name=sql.SQL(re.sub(r"\W", "", table)),
            count=sql.Literal(rows),
        )
        for table, rows in sorted(manifest.rows.items())
    )
    return sql.SQL(_AFTER).format(counts=counts).as_bytes(connection)


def _run(
    dump: Path,
    manifest: Manifest,
    found: programs.Programs,
    before: bytes,
    after: bytes,
    errors: IO[bytes],
) -> None:
    """Send the dump to psql. Without the COMMIT at the end nothing is kept."""
    names = dict(zip(manifest.roles.values(), role_names_of(manifest), strict=True))
    connections["owner"].close()
    command = [found.path("psql"), "-X", "-q", "-w", "-v", "ON_ERROR_STOP=1", "-f", "-"]
    psql = subprocess.Popen(  # noqa: S603
        [*command, programs.address()],
        env=programs.environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=errors,
    )
    script = cast(IO[bytes], psql.stdin)
    try:
        script.write(before)
        script.writelines(renamed(_statements(dump, found, errors), names))
        script.write(after)
        script.close()
    except BrokenPipeError:
        pass  # psql has stopped because of an error
    except BaseException:
        psql.kill()
        raise
    finally:
        psql.wait()
    if psql.returncode:
        raise RestoreRefused(f"The database was not changed. {_tail(errors)}")


def role_names_of(manifest: Manifest) -> list[str]:
    """Return this server's names of the manifest's roles, in the same order."""
    here = role_names()
    return [here[kind] for kind in manifest.roles]


def _statements(dump: Path, found: programs.Programs, errors: IO[bytes]) -> Iterator[bytes]:
    """Yield the lines of the dump as SQL. Raises RestoreRefused if it cannot be read to its end."""
    with tempfile.NamedTemporaryFile("w", suffix=".list") as chosen:
        chosen.write("".join(_contents(dump, found)))
        chosen.flush()
        restore = subprocess.Popen(  # noqa: S603
            [found.path("pg_restore"), "-f", "-", "-L", chosen.name, "--enable-row-security", dump],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
        )
        with restore, cast(IO[bytes], restore.stdout) as lines:
            yield from lines
        if restore.returncode:
            raise RestoreRefused(f"The dump cannot be read. {_tail(errors)}")


def _contents(dump: Path, found: programs.Programs) -> list[str]:
    """Return the contents of the dump, without what `migrate` creates."""
    listed = subprocess.run(  # noqa: S603
        [found.path("pg_restore"), "-l", dump], capture_output=True, text=True, check=False
    )
    if listed.returncode:
        raise RestoreRefused(f"The dump cannot be read: {listed.stderr.strip()}")
    return [line for line in listed.stdout.splitlines(keepends=True) if not _LEFT_OUT.match(line)]


def _tail(errors: IO[bytes]) -> str:
    errors.seek(0)
    return "\n".join(errors.read().decode(errors="replace").strip().splitlines()[-5:])
