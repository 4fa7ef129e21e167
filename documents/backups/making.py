"""The pipeline of a backup: defer removals, dump the database, copy the originals in the dump,
check them, and finally rename the folder."""

import fcntl
import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.db import Error as DatabaseError

from documents.accounts import audit
from documents.errors import IngestError
from documents.intake import originals
from documents.intake.deferred_removals import BackupRunning, removals_deferred
from documents.verification.checks import Progress

from . import manifest, programs
from .errors import BackupFailed
from .manifest import Manifest
from .snapshot import Snapshot, role_names, snapshot

PROGRESS_EVERY = 500  # files


def back_up(target: Path, *, progress: Progress = lambda line: None) -> Manifest:
    """Make a backup in the new folder `target`, while the service runs.

    It is made in `<target>.partial` and renamed when complete, so a backup that was killed never
    looks like one. Originals that are missing or damaged in the storage are named in `problems`.
    """
    if target.exists():
        raise BackupFailed(f"{target} exists already. Each backup is a new folder.")
    try:
        with _draft(target) as folder:
            with removals_deferred():
                made = _fill(folder, progress)
            _finish(folder, target, made)
    except BackupRunning as error:
        raise BackupFailed(str(error)) from None
    except (OSError, DatabaseError) as error:
        raise BackupFailed(f"The backup was not made: {error}") from error
    try:
        originals.remove_due()
    except IngestError as error:  # housekeeping tries again
        progress(str(error))
    details = {"originals": made.originals, "problems": len(made.problems)}
    audit.record("backup.make", count=sum(made.rows.values()), details=details)
    return made


@contextmanager
def _draft(target: Path) -> Iterator[Path]:
    """Yield an empty folder beside the target; remove it if the block fails."""
    folder = target.with_name(f"{target.name}.partial")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BackupFailed(f"Another backup to {target} is being made.") from None
        _empty(folder)  # left by a backup that was killed
        try:
            yield folder
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
    finally:
        os.close(lock)


def _empty(folder: Path) -> None:
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def _fill(folder: Path, progress: Progress) -> Manifest:
    dump, listed = folder / manifest.DUMP, folder / manifest.LIST
    with snapshot() as moment:
        about = _about(moment)
        progress("Dumping the database ...")
        moment.list_originals(listed)
        moment.dump(dump, programs.find(moment.server_major))
    count, size, problems = _copy_originals(folder, progress)
    return Manifest(
        **about,
        originals=count,
        original_bytes=size,
        problems=problems,
        dump=manifest.digest(dump),
        listed=manifest.digest(listed),
    )


def _about(moment: Snapshot) -> dict[str, Any]:
    return {
        "made_at": datetime.now(UTC).isoformat(),
        "ragsite": manifest.release(),
        "postgres": moment.value("SHOW server_version"),
        "pgvector": moment.value("SELECT extversion FROM pg_extension WHERE extname = 'vector'"),
        "roles": role_names(),
        "migrations": moment.migrations(),
        "rows": moment.rows(),
    }


def _copy_originals(folder: Path, progress: Progress) -> tuple[int, int, list[str]]:
    count, size, problems = 0, 0, []
    for item in manifest.originals_in(folder):
        copied = _copy(item, folder / manifest.FILES / item["key"])
        count += 1
        size += copied or 0
        if copied is None:
            problems.append(item["key"])
        if count % PROGRESS_EVERY == 0:
            progress(f"{count:,} originals")
    return count, size, problems


def _copy(item: dict[str, Any], path: Path) -> int | None:
    """Copy one original; return None if it is missing or differs from what was uploaded."""
    if path.exists():  # two versions may share it
        return 0
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    hashed, size = hashlib.sha256(), 0
    try:
        source = originals.opened_unchecked(item["key"])
    except originals.OriginalLost:
        return None
    except originals.StorageUnavailable as error:
        raise BackupFailed(f"The backup was not made: {error}") from None
    with source, path.open("xb") as file:
        os.fchmod(file.fileno(), 0o600)
        while block := source.read(manifest.BLOCK):
            hashed.update(block)
            file.write(block)
            size += len(block)
    if hashed.hexdigest() != item["sha256"]:
        path.unlink()
        return None
    return size


def _finish(folder: Path, target: Path, made: Manifest) -> None:
    """Flush everything to disk, then write the manifest, then rename the folder."""
    os.sync()
    made.write(folder)
    if target.exists():
        raise BackupFailed(f"{target} has appeared meanwhile.")
    folder.rename(target)
    manifest.sync_folder(target.parent)
