"""Stored originals: written durably, checked when read, never stored under a client's name."""

import errno
import hashlib
import logging
import os
import tempfile
import time
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from datetime import UTC, date, datetime
from typing import BinaryIO

from django.conf import settings
from django.core.files.base import File
from django.core.files.storage import default_storage
from django.db import DatabaseError

from documents.errors import IngestError

from . import deferred_removals

logger = logging.getLogger(__name__)

LOOK_AGAIN = (0.2, 0.5, 1.0)  # seconds, because an object store may list a new object late
BLOCK = 256 * 1024  # bytes
AT_ONCE = 8  # files being stored


class StorageFull(IngestError):
    code = "storage_full"


class StorageUnavailable(IngestError):
    code = "storage_unavailable"


class OriginalLost(IngestError):
    code = "original_lost"


def store(content: File, *, namespace_id: uuid.UUID) -> str:
    """Store the bytes and return their key. When this returns they are durable."""
    key = f"{folder_of(namespace_id, datetime.now(UTC).date())}/{uuid.uuid4()}"
    try:
        content.seek(0)
        key = default_storage.save(key, content)
        _flush(key)
    except OSError as error:
        remove(key)
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StorageFull("There is no room left to store this file.") from error
        logger.error("original.not_stored", extra={"error": str(error)})
        raise _unavailable() from error
    return key


def store_many(contents: Sequence[File], *, namespace_id: uuid.UUID) -> list[str]:
    """Store these files at once; the disk, or the object store, need not wait for each by itself.
    If one fails, none is left, and its error is raised."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        storing = [pool.submit(store, one, namespace_id=namespace_id) for one in contents]
        wait(storing)
    errors = [error for one in storing if (error := one.exception())]
    if errors:
        for one in storing:
            if one.exception() is None:
                remove(one.result())
        raise errors[0]
    return [one.result() for one in storing]


def store_as(key: str, content: File) -> None:
    """Store the bytes under a key that was assigned before, here or by another installation. Raises
    StorageFull or StorageUnavailable."""
    try:
        default_storage.delete(key)
        if default_storage.save(key, content) != key:
            raise FileExistsError(key)
        _flush(key)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StorageFull("There is no room left to store this file.") from error
        raise _unavailable() from error


def folder_of(namespace_id: uuid.UUID, day: date) -> str:
    return f"uploads/{namespace_id}/{day:%Y-%m-%d}"


@contextmanager
def opened(key: str, *, sha256: str) -> Iterator[BinaryIO]:
    """Open the original as a local file. Raises OriginalLost if it is missing or has changed,
    StorageUnavailable if it cannot be read now."""
    with verified(key, sha256=sha256) as file:
        yield file


def verified(key: str, *, sha256: str) -> BinaryIO:
    """Open the original like `opened`, for callers that close the file themselves."""
    file = _local_file(key)
    try:
        if digest_of(file) != sha256:
            raise OriginalLost("The stored original has changed; upload the document again.")
        file.seek(0)
    except BaseException:
        file.close()
        raise
    return file


def signed_link(key: str, *, name: str, media_type: str) -> str | None:
    """Return an address that expires and downloads the original straight from the object storage;
    None without object storage, or if STORAGE_LINK_SECONDS is 0."""
    if not hasattr(default_storage, "signed_link"):
        return None
    link: str | None = default_storage.signed_link(key, name=name, media_type=media_type)
    return link


def opened_unchecked(key: str) -> BinaryIO:
    """Open the original as a local file without verifying all of it first, to show a page of it."""
    return _local_file(key)


def size_of(key: str) -> int:
    """Return a stored original's size in bytes. Raises OriginalLost if it is missing,
    StorageUnavailable if the storage does not respond."""
    try:
        size: int = default_storage.size(key)
    except FileNotFoundError as error:
        raise _missing() from error
    except OSError as error:
        try:  # an object store does not say which of the two it is
            is_there = default_storage.exists(key)
        except OSError:
            is_there = True
        if is_there:
            raise _unavailable() from error
        raise _missing() from error
    return size


def digest_of(file: BinaryIO | File) -> str:
    """Return the SHA-256 of the rest of the file, read block by block."""
    digest = hashlib.sha256()
    while block := file.read(BLOCK):
        digest.update(block)
    return digest.hexdigest()


def _local_file(key: str) -> BinaryIO:
    try:
        return open(default_storage.path(key), "rb")
    except NotImplementedError:
        return _copied(key)
    except FileNotFoundError as error:
        raise _missing() from error
    except OSError as error:
        raise _unavailable() from error


def _copied(key: str) -> BinaryIO:
    """Copy the original from an object store into an unnamed temporary file."""
    copy = tempfile.TemporaryFile(dir=settings.FILE_UPLOAD_TEMP_DIR)  # noqa: SIM115
    try:
        _fetch(key, into=copy)
        copy.seek(0)
    except BaseException as error:
        copy.close()
        if isinstance(error, FileNotFoundError):
            raise _missing() from error
        if isinstance(error, OSError):
            logger.warning("original.not_read", extra={"key": key, "error": str(error)})
            raise _unavailable() from error
        raise
    return copy


def _fetch(key: str, *, into: BinaryIO) -> None:
    """Write a stored original into a file. Raises FileNotFoundError if it is missing."""
    for pause in (*LOOK_AGAIN, None):
        try:
            with default_storage.open(key) as stored:
                for block in stored.chunks():
                    into.write(block)
        except FileNotFoundError:
            if pause is None:
                raise
            time.sleep(pause)
        else:
            return


def _missing() -> OriginalLost:
    return OriginalLost("The stored original is missing; upload the document again.")


def _unavailable() -> StorageUnavailable:
    return StorageUnavailable("The storage of originals does not answer; try again shortly.")


def remove(key: str) -> bool:
    """Delete an original; False, and a log entry, if that failed. While a backup copies files, it
    is deferred until the backup has ended."""
    if not key:  # a conversation: its original is its turns
        return True
    try:
        with deferred_removals.removing(key) as may_go:
            return not may_go or _delete(key)
    except DatabaseError:
        logger.exception("original.not_removed", extra={"key": key})
        return False


def remove_due() -> int:
    """Delete originals whose removal was deferred, unless a backup is running; return how many."""
    removed = 0
    while True:
        with deferred_removals.due_removal() as key:
            if key is None:
                return removed
            if not _delete(key):  # the storage does not respond
                raise _unavailable()
            removed += 1


def _delete(key: str) -> bool:
    try:
        default_storage.delete(key)
    except OSError:
        logger.exception("original.not_removed", extra={"key": key})
        return False
    return True


def remove_all(namespace_id: uuid.UUID) -> tuple[int, list[str]]:
    """Delete all originals of a namespace, recorded or not; return (files removed, keys left).

    If the storage cannot list files, they stay; if listing fails, the folder is reported.
    """
    folder = f"uploads/{namespace_id}"
    removed, left = 0, []
    try:
        for key in _keys_below(folder):
            if remove(key):
                removed += 1
            else:
                left.append(key)
    except OSError:
        logger.exception("originals.not_listed", extra={"folder": folder})
        left.append(folder)
    _remove_folder(folder)
    return removed, left


def stored_in(folder: str) -> Iterator[str]:
    """Yield the keys of a namespace's originals. Raises OSError if the storage does not respond."""
    for day in _listed(folder)[0]:
        for name in _listed(f"{folder}/{day}")[1]:
            yield f"{folder}/{day}/{name}"


def namespace_folders() -> list[str]:
    """Return the names of the folders of all namespaces, including deleted ones."""
    return _listed("uploads")[0]


def stored_at(key: str) -> datetime | None:
    """Return when an original was stored; None if it is missing or the storage does not know."""
    try:
        return default_storage.get_modified_time(key)
    except (OSError, NotImplementedError):
        return None


def _keys_below(folder: str) -> Iterator[str]:
    for day in _listed(folder)[0]:
        for name in _listed(f"{folder}/{day}")[1]:
            yield f"{folder}/{day}/{name}"
        _remove_folder(f"{folder}/{day}")


def _listed(folder: str) -> tuple[list[str], list[str]]:
    try:
        folders, names = default_storage.listdir(folder)
    except (
        NotImplementedError,
        FileNotFoundError,
    ):  # the storage cannot list, or has no such folder
        return [], []
    return folders, names


def _remove_folder(folder: str) -> None:
    with suppress(OSError, NotImplementedError):  # not empty, or the storage has no folders
        default_storage.delete(folder)


def _flush(key: str) -> None:
    """Sync a local file to disk: a 202 promises that a power cut does not lose the upload."""
    try:
        path = default_storage.path(key)
    except NotImplementedError:
        return  # object stores acknowledge only durable writes
    for name in (path, os.path.dirname(path)):
        descriptor = os.open(name, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
