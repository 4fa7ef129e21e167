"""Rules about stored originals: each exists, has the recorded bytes, and belongs to a row."""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice

from django.utils import timezone

from documents.intake import deferred_removals, originals, unowned
from documents.intake.originals import OriginalLost, StorageUnavailable
from documents.models import CONVERSATION_MEDIA_TYPE

from . import mending
from .checks import PAGE, AuditScope, Mend, read

# An upload stores its file before its row, so younger files are skipped, as in housekeeping.
GRACE = timedelta(days=1)
PROGRESS_EVERY = 500  # files

_VERSIONS = """
    SELECT id::text, storage_key, content_sha256, byte_size, media_type
    FROM documents_documentversion
    WHERE namespace_id = %(namespace)s {which} ORDER BY id LIMIT %(page)s
"""
# Searched in all namespaces, because a mistake would delete another tenant's original.
_OWNED = "SELECT storage_key FROM documents_documentversion WHERE storage_key = ANY (%(keys)s)"
_NAMESPACES = """
    SELECT id::text FROM documents_namespace
    UNION ALL SELECT removed_namespace::text FROM documents_namespaceremoval
    WHERE state <> 'finished'
"""


@dataclass(frozen=True, slots=True)
class _Stored:
    """An original as described by its version."""

    version_id: str
    key: str
    sha256: str
    size: int
    media_type: str

    def is_there(self, *, is_fast: bool) -> bool:
        if not self.key:  # conversations are read from their turns
            return self.media_type.startswith(CONVERSATION_MEDIA_TYPE)
        try:
            if originals.size_of(self.key) != self.size:
                return False
            if not is_fast:
                with originals.opened(self.key, sha256=self.sha256):
                    pass
        except (OriginalLost, StorageUnavailable):
            return False
        return True


@dataclass(frozen=True, slots=True)
class OriginalsAreThere:
    """Every version's original is stored, with its size and checksum."""

    name: str = "originals"
    what: str = "versions have an original that is missing, unreadable or not what was uploaded"
    mend: Mend | None = None

    def broken(self, audited: AuditScope) -> Iterator[str]:
        done, after = 0, "00000000-0000-0000-0000-000000000000"
        while page := _versions(audited, "AND id > %(after)s::uuid", after=after):
            for stored in page:
                if not stored.is_there(is_fast=audited.is_fast):
                    yield stored.version_id
                done += 1
                if done % PROGRESS_EVERY == 0:
                    audited.progress(f"{audited.slug}: {done:,} originals checked")
            after = page[-1].version_id

    def still_broken(self, audited: AuditScope, ids: list[str]) -> set[str]:
        again = _versions(audited, "AND id = ANY (%(ids)s::uuid[])", ids=ids)
        return {row.version_id for row in again if not row.is_there(is_fast=audited.is_fast)}


@dataclass(frozen=True, slots=True)
class ObjectsHaveRows:
    """Every stored file belongs to a version, except young ones, whose row may not be written
    yet."""

    name: str = "orphans"
    what: str = "stored files belong to no version"
    mend: Mend | None = mending.DELETE_OBJECTS
    is_from_before_restore: bool = False

    def broken(self, audited: AuditScope) -> Iterator[str]:
        if self.is_from_before_restore and unowned.kept_until() is None:
            return
        yield from self._among(_unowned_below(f"uploads/{audited.tenant}"))

    def still_broken(self, audited: AuditScope, ids: list[str]) -> set[str]:
        return set(self._among(iter(_unowned(ids))))

    def _among(self, keys: Iterator[str]) -> Iterator[str]:
        until = unowned.kept_until()
        for key in keys:
            if unowned.is_kept(key, until) == self.is_from_before_restore:
                yield key


@dataclass(frozen=True, slots=True)
class FoldersHaveNamespaces:
    """The storage has no files of a namespace that does not exist. A check of the whole server. Not
    repaired, because another installation may share the storage."""

    name: str = "orphans"
    what: str = "stored files belong to a namespace that is not on this server"
    mend: Mend | None = None

    def broken(self, audited: AuditScope) -> Iterator[str]:
        known = {row[0] for row in read(_NAMESPACES, {})}
        for folder in originals.namespace_folders():
            if folder not in known and _is_id(folder):
                yield from _unowned_below(f"uploads/{folder}")

    def still_broken(self, audited: AuditScope, ids: list[str]) -> set[str]:
        known = {row[0] for row in read(_NAMESPACES, {})}
        return {key for key in _unowned(ids) if key.split("/")[1] not in known}


def _versions(audited: AuditScope, which: str, **parameters: object) -> list[_Stored]:
    known = {"namespace": audited.tenant, "page": PAGE, **parameters}
    return [_Stored(*row) for row in read(_VERSIONS.format(which=which), known)]


def _unowned_below(folder: str) -> Iterator[str]:
    stored = originals.stored_in(folder)
    while keys := list(islice(stored, PAGE)):
        yield from _unowned(keys)


def _unowned(keys: list[str]) -> list[str]:
    owned = {row[0] for row in read(_OWNED, {"keys": keys})}
    old = [key for key in keys if key not in owned and _is_old(key)]
    waiting = deferred_removals.waiting(old) if old else set()
    return [key for key in old if key not in waiting]


def _is_old(key: str) -> bool:
    stored_at = originals.stored_at(key)
    return stored_at is not None and stored_at < timezone.now() - GRACE


def _is_id(folder: str) -> bool:
    try:
        uuid.UUID(folder)
    except ValueError:
        return False
    return True


# They may be originals of documents that a restored database does not know, so they are deleted
# only on request (`manage.py verify --forget-restore`).
OBJECTS_FROM_BEFORE_RESTORE = ObjectsHaveRows(
    name=unowned.KEPT_FILES,
    what="stored files from before the database was restored belong to no version in it",
    mend=None,
    is_from_before_restore=True,
)

FILES = (OriginalsAreThere(), ObjectsHaveRows(), OBJECTS_FROM_BEFORE_RESTORE)
