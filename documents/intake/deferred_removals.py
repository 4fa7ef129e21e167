"""Defers the removal of stored files while a backup copies them.

A backup first dumps the database and then copies the files that the dump names, so no file may be
removed in between. Meanwhile it holds an advisory lock, which PostgreSQL releases if the backup
dies. Removing a file takes a share of that lock. If it is not available, a row records the file,
which is then removed when the backup has ended.
"""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from documents.models import PutOffRemoval
from ragsite.database.tenancy import current_connection, namespace, operator

_FILES, _BACKUP = 0x5261_6773_6974_6501, 0x5261_6773_6974_6502  # "Ragsite", and a number
_SHARE = "SELECT pg_try_advisory_xact_lock_shared(%s)"


class BackupRunning(Exception):
    """Another backup of this database is being made."""


@contextmanager
def removals_deferred() -> Iterator[None]:
    """Prevent the removal of stored files inside the block. Raises BackupRunning, and
    OperationalError if the lock was lost."""
    holder = connections.create_connection("owner")
    try:
        # A transaction's lock, because a pooler may give a session's lock to others.
        holder.set_autocommit(False)
        with holder.cursor() as cursor:
            cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
            cursor.execute("SET LOCAL lock_timeout = 0")
            cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [_BACKUP])
            if not cursor.fetchone()[0]:
                raise BackupRunning("Another backup of this database is being made.")
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_FILES])
            yield
            cursor.execute("SELECT 1")
    finally:
        _end(holder)


def _end(holder: BaseDatabaseWrapper) -> None:
    if holder.connection is not None:
        holder.close()


@contextmanager
def removing(key: str) -> Iterator[bool]:
    """Yield whether the file may be removed inside the block; if not, that is deferred."""
    namespace_id = _namespace_of(key)
    if namespace_id is None:
        yield True
        return
    with namespace(namespace_id):
        with current_connection().cursor() as cursor:
            cursor.execute(_SHARE, [_FILES])
            (may_go,) = cursor.fetchone()
        if not may_go:
            row = PutOffRemoval(namespace_id=namespace_id, storage_key=key)
            PutOffRemoval.objects.bulk_create([row], ignore_conflicts=True)
        yield may_go


@contextmanager
def due_removal() -> Iterator[str | None]:
    """Yield the key of a file whose removal was deferred, and delete its record at the end of the
    block; None if there is none or a backup is running."""
    with operator(), transaction.atomic(using="operator"):
        with connections["operator"].cursor() as cursor:
            cursor.execute(_SHARE, [_FILES])
            (may_go,) = cursor.fetchone()
        rows = PutOffRemoval.objects.select_for_update(skip_locked=True).order_by("pk")
        row = rows.first() if may_go else None
        yield row.storage_key if row else None
        if row:
            row.delete()


def waiting(keys: list[str]) -> set[str]:
    """Return which of these wait for a running backup to end."""
    with operator(), transaction.atomic(using="operator"):
        with connections["operator"].cursor() as cursor:
            cursor.execute(_SHARE, [_FILES])
            if cursor.fetchone()[0]:
                return set()
        found = PutOffRemoval.objects.filter(storage_key__in=keys)
        return set(found.values_list("storage_key", flat=True))


def _namespace_of(key: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(key.split("/")[1])
    except (IndexError, ValueError):
        return None
