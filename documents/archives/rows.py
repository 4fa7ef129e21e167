"""Insert the rows of an archive into tables. PostgreSQL parses them itself, so vectors and words
stay exact.

Whatever an archive contains, its rows belong to the new namespace: namespace, profile and storage
key are set here, and row-level security applies.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection

from .contents import ArchivedColumn, ArchivedTable
from .errors import ArchiveRefused

MAX_ROWS, MAX_BYTES = 500, 4 * 1024 * 1024  # of one statement


@dataclass(frozen=True, slots=True)
class ImportPlace:
    """The destination of rows: the namespace, its profile, and the folder of its originals.

    If `renumbered`, each id is replaced by one derived from it and the namespace, so that
    references stay valid. Its last 32 bits are kept, because they order the facts of a table.
    """

    namespace_id: UUID
    profile_id: UUID
    folder: str
    renumbered: bool

    def id_of(self, expression: str) -> str:
        """Return the SQL that converts an id of the archive to the id on this server."""
        if not self.renumbered:
            return expression
        return (
            f"(left(md5('{self.namespace_id}' || left(replace({expression}::text, '-', ''), 24)), "
            f"24) || right({expression}::text, 8))::uuid"
        )


def insert(
    table: ArchivedTable, given: list[str], lines: Iterable[bytes], place: ImportPlace
) -> int:
    """Insert the rows of a table; `given` are the columns that the archive has. Inside
    namespace()."""
    statement, defaults = _statement(table, given, place)
    count = 0
    with connection.cursor() as cursor:
        for batch in _batches(lines):
            cursor.execute(statement, [*defaults, _array(batch)])
            count += len(batch)
    return count


def link(table: ArchivedTable, lines: Iterable[bytes], place: ImportPlace) -> None:
    """Set the columns with which rows refer to other rows of their table. Inside namespace()."""
    for column in table.links:
        statement = (
            f'UPDATE {table.name} t SET "{column.name}" = {place.id_of("r.target")} '  # noqa: S608
            f'FROM jsonb_to_recordset(%s::jsonb) AS r("{table.key}" uuid, target uuid) '
            f'WHERE t."{table.key}" = {place.id_of(f"r.{chr(34)}{table.key}{chr(34)}")} '
            "AND t.namespace_id = %s"
        )
        with connection.cursor() as cursor:
            for batch in _batches(lines):
                pairs = [_pair(line, table.key, column.name) for line in batch]
                cursor.execute(statement, [json.dumps(pairs), place.namespace_id])


def decoded(line: bytes) -> dict[str, Any]:
    """Read a row's JSON. Raises ArchiveRefused."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        row = None
    if not isinstance(row, dict):
        raise ArchiveRefused("A row cannot be read.")
    return row


def _pair(line: bytes, key: str, column: str) -> dict[str, Any]:
    row = decoded(line)
    return {key: row.get(key), "target": row.get(column)}


def _statement(table: ArchivedTable, given: list[str], place: ImportPlace) -> tuple[str, list[Any]]:
    columns, values, defaults = [], [], []
    for column in table.columns:
        if column.kind == "link":
            continue
        if column.name in given or column.kind in ("namespace", "profile"):
            values.append(_value(table, column, place))
        elif column.default is not None:
            values.append("%s")
            defaults.append(_adapted(column.default))
        else:
            continue  # the database has a default, or the column may be null
        columns.append(f'"{column.name}"')
    return (
        f"INSERT INTO {table.name} ({', '.join(columns)}) SELECT {', '.join(values)} "  # noqa: S608
        f"FROM jsonb_populate_recordset(NULL::{table.name}, %s::jsonb) r",
        defaults,
    )


def _value(table: ArchivedTable, column: ArchivedColumn, place: ImportPlace) -> str:
    here = f'r."{column.name}"'
    if column.kind == "namespace":
        return f"'{place.namespace_id}'::uuid"
    if column.kind == "profile":
        return f"'{place.profile_id}'::uuid"
    if (table.name, column.name) == ("documents_chunkterms", "place"):
        return f"ragsite.place('{place.namespace_id}'::uuid, '{place.profile_id}'::uuid)"
    if (table.name, column.name) == ("documents_documentversion", "storage_key"):
        own = place.id_of('r."id"')
        return f"CASE WHEN {here} = '' THEN '' ELSE '{place.folder}/' || {own} END"
    if column.kind == "id":
        return place.id_of(here)
    if column.kind == "ids":
        each = place.id_of("one")
        return (
            f"ARRAY(SELECT {each} FROM unnest({here}) WITH ORDINALITY AS ids(one, number) "  # noqa: S608
            "ORDER BY number)"
        )
    return here


def _adapted(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, dict) else value


def _batches(lines: Iterable[bytes]) -> Iterator[list[bytes]]:
    batch: list[bytes] = []
    size = 0
    for line in lines:
        batch.append(line)
        size += len(line)
        if len(batch) >= MAX_ROWS or size >= MAX_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _array(batch: list[bytes]) -> str:
    try:
        return f"[{b','.join(batch).decode()}]"
    except UnicodeDecodeError:
        raise ArchiveRefused("A row is not written in UTF-8.") from None
