"""A snapshot of the database: the dump, the counts and the list of originals are consistent."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

from ragsite.database.isolation import role

from . import programs
from .errors import BackupFailed

# Rows that are meaningless on another server or later: sessions, wake-ups and heartbeats. Users log
# in again, and workers find their work in the tables.
LEFT_OUT = {
    "django_session",
    "django_q_ormq",
    "django_q_task",
    "documents_loginthrottle",
    "documents_putoffremoval",
    "documents_requestcount",
    "documents_workerheartbeat",
}
WITHOUT_MODEL = {"documents_requestcount"}  # tables that only SQL functions use
PAGE = 2000

_ORIGINALS = """
    DECLARE originals NO SCROLL CURSOR FOR
    SELECT storage_key, content_sha256, byte_size FROM documents_documentversion
    WHERE storage_key <> '' ORDER BY storage_key
"""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A transaction that sees the database as of its start."""

    connection: BaseDatabaseWrapper
    id: str
    server_major: int

    def value(self, query: str) -> str:
        with self.connection.cursor() as cursor:
            cursor.execute(query)
            return str(cursor.fetchone()[0])

    def rows(self) -> dict[str, int]:
        """Count the rows of every table that is dumped."""
        counts = {}
        with self.connection.cursor() as cursor:
            for table in sorted(own_tables() - LEFT_OUT):
                cursor.execute(f'SELECT count(*) FROM public."{table}"')  # noqa: S608
                (counts[table],) = cursor.fetchone()
        return counts

    def _tables_of_others(self) -> list[str]:
        with self.connection.cursor() as cursor:
            cursor.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
            return sorted(
                {f'"{table}"' for (table,) in cursor.fetchall() if table not in own_tables()}
            )

    def migrations(self) -> dict[str, list[str]]:
        with self.connection.cursor() as cursor:
            cursor.execute(
                "SELECT app, array_agg(name ORDER BY id) FROM django_migrations GROUP BY app"
            )
            return dict(cursor.fetchall())

    def list_originals(self, path: Path) -> None:
        """Write a line for each original that a version names."""
        with self.connection.cursor() as cursor, path.open("w") as file:
            cursor.execute(_ORIGINALS)
            while True:
                cursor.execute(f"FETCH {PAGE} FROM originals")
                if not (page := cursor.fetchall()):
                    return
                for key, sha256, size in page:
                    line = {"key": key, "sha256": sha256, "bytes": size}
                    file.write(f"{json.dumps(line)}\n")

    def dump(self, path: Path, found: programs.Programs) -> None:
        """Dump the database as of this snapshot. Raises BackupFailed."""
        command = [
            found.path("pg_dump"),
            "--format=custom",
            "--compress=6",
            "--no-password",
            # The owner's policies show all rows; without this option pg_dump refuses tables with
            # policies.
            "--enable-row-security",
            "--schema=public",
            "--schema=ragsite",
            f"--snapshot={self.id}",
            f"--file={path}",
            *(f"--exclude-table-data=public.{table}" for table in sorted(LEFT_OUT)),
            *(f"--exclude-table=public.{table}" for table in self._tables_of_others()),
            programs.address(),
        ]
        log = path.with_suffix(".log")
        with log.open("wb") as errors:
            done = subprocess.run(  # noqa: S603
                command,
                env=programs.environment(),
                stdin=subprocess.DEVNULL,
                stderr=errors,
                check=False,
            )
        if done.returncode:
            raise BackupFailed(f"pg_dump failed:\n{programs.tail_of(log)}")
        log.unlink()


@contextmanager
def snapshot() -> Iterator[Snapshot]:
    """Begin a transaction as the owner, on a connection of its own, and share its snapshot."""
    connection = connections.create_connection("owner")
    try:
        connection.set_autocommit(False)
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
            cursor.execute("SET LOCAL statement_timeout = 0")
            cursor.execute(
                "SELECT pg_export_snapshot(), current_setting('server_version_num')::int"
            )
            name, version = cursor.fetchone()
        yield Snapshot(connection, name, version // 10000)
    finally:
        if connection.connection is not None:
            connection.close()


def own_tables() -> set[str]:
    """Return this project's tables that exist; other tables may share the schema."""
    introspection = connections["owner"].introspection
    tables = introspection.django_table_names(only_existing=True)
    existing = introspection.table_names()
    return {*tables, "django_migrations", *WITHOUT_MODEL.intersection(existing)}


def role_names() -> dict[str, str]:
    """Return the names of the four roles in this database."""
    with connections["owner"].cursor() as cursor:
        cursor.execute("SELECT current_user")
        (owner,) = cursor.fetchone()
    return {"owner": owner, **{kind: role(kind) for kind in ("app", "operator", "definer")}}
