"""The pipeline of a restore: check everything, copy the files, load the database in one
transaction, then migrate."""

import time
from pathlib import Path

from django.core.files.base import File
from django.core.management import call_command
from django.db import connections

from documents.accounts import audit
from documents.errors import IngestError
from documents.intake import originals, unowned
from documents.jobs import queue
from documents.models import Namespace
from documents.stores import feeding
from documents.verification.checks import Progress
from ragsite.database import roles
from ragsite.database.isolation import role
from ragsite.database.tenancy import operator
from ragsite.platform.cache_clearing import clear_namespace

from . import loading, manifest
from .errors import RestoreRefused
from .manifest import FILES, Manifest

PROGRESS_EVERY = 500  # files
PATIENCE = 10.0  # seconds, for connections that are being closed

_OTHERS = """
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND usename = ANY (%s) AND pid <> pg_backend_pid()
"""


def restore(
    source: Path, *, replace: bool = False, progress: Progress = lambda line: None
) -> Manifest:
    """Restore a backup. Raises RestoreRefused if the database is unchanged.

    `replace` permits this on a server that has data: the database is replaced. No stored file is
    deleted; those that the restored database does not know are kept (intake/unowned.py).
    """
    found = manifest.read(source)
    manifest.require_known_migrations(found)
    progress("Checking the backup ...")
    _require_whole(source, found)
    _require_fitting(replace=replace)
    _bring_originals(source, found, progress)
    progress("Restoring the database ...")
    loading.load(source, found)
    call_command("migrate", verbosity=0)
    unowned.note_restore()
    _start_anew()
    details = {"made_at": found.made_at, "originals": found.originals}
    audit.record("backup.restore", count=sum(found.rows.values()), details=details)
    return found


def _require_whole(source: Path, found: Manifest) -> None:
    """Compare everything in the backup with its checksum before anything is changed."""
    for name, part in ((manifest.DUMP, found.dump), (manifest.LIST, found.listed)):
        try:
            is_same = manifest.digest(source / name) == part
        except OSError:
            is_same = False
        if not is_same:
            raise RestoreRefused(f"{source / name} is missing or damaged. Nothing was changed.")
    problems: set[str] = set(found.problems)
    count = 0
    for item in manifest.originals_in(source):
        count += 1
        if item["key"] in problems:
            continue
        path = source / FILES / item["key"]
        try:
            is_same = manifest.digest(path).sha256 == item["sha256"]
        except OSError:
            is_same = False
        if not is_same:
            raise RestoreRefused(f"{path} is missing or damaged. Nothing was changed.")
    if count != found.originals:
        raise RestoreRefused(f"{source / manifest.LIST} is not complete. Nothing was changed.")


def _require_fitting(*, replace: bool) -> None:
    """Raise RestoreRefused if the service runs, or if this server already has data."""
    for alias in connections:
        if alias != "owner":
            connections[alias].close()
    owner = connections["owner"]
    try:
        roles.require_supported(owner)
    except roles.UnsuitableDatabase as error:
        raise RestoreRefused(str(error)) from None
    _require_nobody_else()
    with owner.cursor() as cursor:
        tables = owner.introspection.table_names(cursor)
        if replace or "documents_namespace" not in tables:
            return
        cursor.execute("SELECT count(*) FROM documents_namespace")
        if found := cursor.fetchone()[0]:
            raise RestoreRefused(
                f"This installation already has data (namespaces: {found}), and a restore replaces "
                "all of it. Restore into an empty RAGSITE_HOME or database, or use --replace."
            )


def _require_nobody_else() -> None:
    """Raise RestoreRefused while the service is connected; connections need a moment to end."""
    until = time.monotonic() + PATIENCE
    with connections["owner"].cursor() as cursor:
        while True:
            cursor.execute(_OTHERS, [[role("app"), role("operator")]])
            if not cursor.fetchone()[0]:
                return
            if time.monotonic() > until:
                raise RestoreRefused(
                    "The service uses this database. Stop it first, on every host."
                )
            time.sleep(0.1)


def _bring_originals(source: Path, found: Manifest, progress: Progress) -> None:
    problems: set[str] = set(found.problems)
    for number, item in enumerate(manifest.originals_in(source), start=1):
        if item["key"] not in problems:
            _bring(source / FILES / item["key"], item["key"], item["sha256"])
        if number % PROGRESS_EVERY == 0:
            progress(f"{number:,} of {found.originals:,} originals")


def _bring(path: Path, key: str, sha256: str) -> None:
    try:
        with originals.opened(key, sha256=sha256):
            return  # it exists already
    except originals.OriginalLost:
        pass
    except IngestError as error:
        raise RestoreRefused(f"{error} The database was not changed.") from None
    try:
        with path.open("rb") as content:
            originals.store_as(key, File(content))
    except IngestError as error:
        raise RestoreRefused(f"{error} The database was not changed.") from None


def _start_anew() -> None:
    """Wake workers for unfinished work, and clear the caches of the earlier contents."""
    queue.requeue_stalled()
    with operator():
        for namespace_id in Namespace.objects.values_list("pk", flat=True):
            clear_namespace(namespace_id)
    feeding.rebuild_all()  # stores may contain changes that are newer than the backup
