"""The pipeline of an export: one snapshot of one namespace, streamed into one file."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from django.core.serializers.json import DjangoJSONEncoder
from django.db import Error as DatabaseError
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

from documents.accounts import audit
from documents.errors import IngestError
from documents.intake import originals
from documents.intake.deferred_removals import BackupRunning, removals_deferred
from documents.models import IndexProfile, Namespace
from documents.verification.checks import Progress
from ragsite.database.tenancy import operator

from .container import BLOCK, ArchiveWriter, writing
from .contents import ArchivedTable, tables
from .errors import ArchiveFailed

FORMAT = 1
KIND = "ragsite namespace archive"
PAGE = 200
PAGE_OF_TEXTS = 8  # a version has the whole text of a document
# Fields of a namespace; its slug is chosen by the import.
SETTINGS = (
    "slug",
    "name",
    "language",
    "answer_model",
    "answer_prompt",
    "answer_language",
    "answer_min_relevance",
    "max_documents",
    "max_bytes",
    "max_chunks",
    "revision",
)


def export_namespace(
    tenant: Namespace, path: Path, *, release: str, progress: Progress = lambda line: None
) -> dict[str, int]:
    """Write a namespace to a new file, while the service runs; return how many rows of each table.

    Raises ArchiveFailed. Originals that are missing or damaged in the storage are left out and
    named at the end of the archive.
    """
    if tenant.deleting_since is not None:
        raise ArchiveFailed("The namespace is being deleted.")
    try:
        with removals_deferred(), _snapshot(tenant.pk) as connection, writing(path) as archive:
            counts = _write(archive, connection, tenant, release, progress)
    except BackupRunning:
        raise ArchiveFailed("A backup or another export is being made: wait for it.") from None
    except (OSError, DatabaseError) as error:
        raise ArchiveFailed(f"The namespace was not exported: {error}") from error
    try:
        originals.remove_due()
    except IngestError as error:  # housekeeping tries again
        progress(str(error))
    rows = sum(counts.values())
    audit.record("namespace.export", namespace=tenant, target=tenant, count=rows)
    return counts


@contextmanager
def _snapshot(namespace_id: UUID) -> Iterator[BaseDatabaseWrapper]:
    """Begin a transaction as the application role, which sees only this namespace."""
    connection = connections.create_connection("default")
    try:
        connection.set_autocommit(False)
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            for name in ("statement_timeout", "idle_in_transaction_session_timeout"):
                cursor.execute(f"SET LOCAL {name} = 0")
            cursor.execute("SELECT set_config('ragsite.namespace', %s, true)", [str(namespace_id)])
        yield connection
    finally:
        if connection.connection is not None:
            connection.close()


def _write(
    archive: ArchiveWriter,
    connection: BaseDatabaseWrapper,
    tenant: Namespace,
    release: str,
    progress: Progress,
) -> dict[str, int]:
    chosen = tables()
    profile = _describe(archive, connection, tenant, chosen, release)
    counts: dict[str, int] = {}
    for table in chosen:
        progress(f"{table.name} ...")
        lines = _rows(connection, table, profile)
        archive.add(f"rows/{table.name}.jsonl", _counted(lines, counts, table.name))
        if table.links:
            archive.add(f"links/{table.name}.jsonl", _links(connection, table))
    progress("Originals ...")
    missing = [version for version in _originals(archive, connection) if version]
    archive.finish(rows=counts, missing_originals=missing)
    return counts


def _describe(
    archive: ArchiveWriter,
    connection: BaseDatabaseWrapper,
    tenant: Namespace,
    chosen: list[ArchivedTable],
    release: str,
) -> UUID:
    """Write the description, and return the profile whose passages are exported."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_jsonb(n) FROM documents_namespace n WHERE id = %s", [tenant.pk])
        row = cursor.fetchone()[0]
    found = json.loads(row) if isinstance(row, str) else row
    with operator():
        active = IndexProfile.objects.get(pk=found["active_profile_id"])
        own = list(IndexProfile.objects.filter(namespace=tenant.pk).exclude(pk=active.pk))
    description = {
        "kind": KIND,
        "format": FORMAT,
        "ragsite": release,
        "made_at": datetime.now(UTC).isoformat(),
        "namespace_id": str(tenant.pk),
        "namespace": {name: found[name] for name in SETTINGS},
        "profile": _described(active),
        "other_profiles": [_described(one) for one in own],
        "tables": {table.name: [column.name for column in table.columns] for table in chosen},
    }
    archive.describe(json.dumps(description, cls=DjangoJSONEncoder))
    return active.pk


def _described(profile: IndexProfile) -> dict[str, Any]:
    fields = [f.attname for f in IndexProfile._meta.concrete_fields if f.attname != "created_at"]
    return {name: getattr(profile, name) for name in fields}


def _rows(connection: BaseDatabaseWrapper, table: ArchivedTable, profile: UUID) -> Iterator[bytes]:
    """Yield one line of JSON per row; of passages and words only those under the active profile."""
    columns = ", ".join(f'"{column.name}"' for column in table.columns)
    condition, parameters = "", []
    if table.profile_column:
        condition, parameters = f'WHERE "{table.profile_column}" = %s', [str(profile)]
    query = (
        f"SELECT to_jsonb(r)::text FROM (SELECT {columns} FROM {table.name} {condition} "  # noqa: S608
        f'ORDER BY "{table.key}") r'
    )
    page = PAGE_OF_TEXTS if table.name == "documents_documentversion" else PAGE
    for (line,) in _fetched(connection, query, parameters, page):
        yield f"{line}\n".encode()


def _links(connection: BaseDatabaseWrapper, table: ArchivedTable) -> Iterator[bytes]:
    """Yield a line for each row that refers to another row of its table."""
    pairs = ", ".join(f"'{column.name}', \"{column.name}\"" for column in table.links)
    some = " OR ".join(f'"{column.name}" IS NOT NULL' for column in table.links)
    query = (
        f"SELECT jsonb_build_object('{table.key}', \"{table.key}\", {pairs})::text "  # noqa: S608
        f'FROM {table.name} WHERE {some} ORDER BY "{table.key}"'
    )
    for (line,) in _fetched(connection, query, [], PAGE):
        yield f"{line}\n".encode()


def _originals(archive: ArchiveWriter, connection: BaseDatabaseWrapper) -> Iterator[str]:
    """Write all originals; yield the id of each version whose original is missing or damaged."""
    query = (
        "SELECT id::text, storage_key, content_sha256 FROM documents_documentversion "
        "WHERE storage_key <> '' ORDER BY id"
    )
    for version, key, sha256 in _fetched(connection, query, [], PAGE):
        try:
            with originals.opened(key, sha256=sha256) as file:
                archive.add(f"originals/{version}", iter(lambda: file.read(BLOCK), b""))
        except originals.OriginalLost:
            yield version
        except IngestError as error:
            raise ArchiveFailed(f"The namespace was not exported: {error}") from None


def _counted(lines: Iterator[bytes], counts: dict[str, int], name: str) -> Iterator[bytes]:
    counts[name] = 0
    for line in lines:
        counts[name] += 1
        yield line


def _fetched(
    connection: BaseDatabaseWrapper, query: str, parameters: list[Any], page: int
) -> Iterator[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(f"DECLARE exported NO SCROLL CURSOR FOR {query}", parameters)
        while rows := _next(cursor, page):
            yield from rows
        cursor.execute("CLOSE exported")


def _next(cursor: Any, page: int) -> list[tuple[Any, ...]]:
    cursor.execute(f"FETCH {page} FROM exported")
    rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows
