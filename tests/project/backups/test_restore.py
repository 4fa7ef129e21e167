"""Restores: refused before anything changes, all or nothing, and no younger file is lost."""

import json
import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.conf import settings as django_settings
from django.core.files.base import ContentFile
from django.core.management import CommandError, call_command
from django.db import connections

from documents import housekeeping
from documents.backups import manifest, restoring
from documents.backups.making import back_up
from documents.intake import deferred_removals, originals, unowned
from documents.models import Document, Namespace
from documents.verification import auditing
from ragsite.database.tenancy import operator

from ...client import Api
from .elsewhere import answers_here, restore_here, stored

pytestmark = pytest.mark.usefixtures("db")


def damaged(saved: Path, part: str) -> None:
    if part == "original":
        path = next(path for path in (saved / manifest.FILES).rglob("*") if path.is_file())
        path.write_bytes(path.read_bytes() + b" ")
    elif part == "newer":
        text = json.loads((saved / manifest.NAME).read_text())
        text["format"] = manifest.FORMAT + 1
        (saved / manifest.NAME).write_text(json.dumps(text))
    elif part == "migration":
        text = json.loads((saved / manifest.NAME).read_text())
        text["migrations"]["documents"].append("9999_of_tomorrow")
        (saved / manifest.NAME).write_text(json.dumps(text))
    elif part == "manifest":
        path = saved / manifest.NAME
        path.write_text(path.read_text()[:-100])
    else:
        path = saved / (manifest.DUMP if part == "dump" else manifest.LIST)
        path.write_bytes(path.read_bytes()[:-10])


@pytest.mark.parametrize(
    ("part", "sentence"),
    [
        ("original", "missing or damaged"),
        ("dump", "missing or damaged"),
        ("list", "missing or damaged"),
        ("manifest", "cannot be read"),
        ("newer", "newer one"),
        ("migration", "Upgrade first"),
    ],
)
def test_a_damaged_or_newer_backup_is_refused_before_anything_changes(
    filled: Namespace, api: Api, tmp_path: Path, part: str, sentence: str
):
    back_up(tmp_path / "saved")
    damaged(tmp_path / "saved", part)
    before, files = answers_here(api), stored(filled)
    with pytest.raises(CommandError, match=sentence):
        restore_here(tmp_path / "saved")
    assert (answers_here(api), stored(filled)) == (before, files)


def test_a_key_that_leads_out_of_the_storage_is_refused(filled: Namespace, tmp_path: Path):
    back_up(tmp_path / "saved")
    listed = tmp_path / "saved" / manifest.LIST
    listed.write_text(listed.read_text().replace("uploads/", "uploads/../../../"))
    text = json.loads((tmp_path / "saved" / manifest.NAME).read_text())
    part = manifest.digest(listed)
    text["listed"] = {"sha256": part.sha256, "bytes": part.bytes}
    (tmp_path / "saved" / manifest.NAME).write_text(json.dumps(text))
    with pytest.raises(CommandError, match="cannot be read"):
        restore_here(tmp_path / "saved")


def test_a_restore_that_fails_halfway_leaves_the_database_as_it_was(
    filled: Namespace, api: Api, tmp_path: Path
):
    back_up(tmp_path / "saved")
    text = json.loads((tmp_path / "saved" / manifest.NAME).read_text())
    text["rows"]["documents_chunk"] += 1  # the last thing that is compared
    (tmp_path / "saved" / manifest.NAME).write_text(json.dumps(text))
    api.upload(("later.md", "# Later\n\nNot in the backup."))
    before = answers_here(api)
    with pytest.raises(CommandError, match="database was not changed"):
        restore_here(tmp_path / "saved")
    assert answers_here(api) == before
    with operator():
        assert Document.objects.filter(source_uri="upload:later.md").exists()


def test_a_running_service_is_not_replaced(
    filled: Namespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    back_up(tmp_path / "saved")
    monkeypatch.setattr(restoring, "PATIENCE", 0.5)
    other = connections.create_connection("default")
    try:
        other.ensure_connection()
        with pytest.raises(CommandError, match="Stop it first"):
            call_command("restore", str(tmp_path / "saved"), "--replace")
    finally:
        other.close()


def age(*keys: str) -> None:
    """Make stored files five days old, as housekeeping looks at them."""
    for key in keys:
        path = django_settings.HOME / "storage" / key
        then = path.stat().st_mtime - 5 * 86_400
        os.utime(path, (then, then))


def in_folder_of_earlier_days(key: str) -> str:
    """Move a stored file to the folder of five days ago."""
    day = f"{datetime.now(UTC) - timedelta(days=5):%Y-%m-%d}"
    parts = key.split("/")
    moved = "/".join([*parts[:2], day, parts[3]])
    root = django_settings.HOME / "storage"
    (root / moved).parent.mkdir(parents=True, exist_ok=True)
    (root / key).rename(root / moved)
    return moved


def test_files_younger_than_a_restored_database_are_kept(
    filled: Namespace, api: Api, work: Callable[[], int], tmp_path: Path
):
    """Nothing deletes the originals of documents that the older database does not know."""
    back_up(tmp_path / "saved")
    known = stored(filled)
    api.upload(("later.md", "# Later\n\nUploaded after the backup."))
    work()
    (later,) = stored(filled) - known
    restore_here(tmp_path / "saved")
    with operator():
        assert not Document.objects.filter(source_uri="upload:later.md").exists()
    later = in_folder_of_earlier_days(later)
    age(later)
    housekeeping.tidy()
    report = auditing.verify(repair=True)
    assert [(one.check, one.examples) for one in report.findings] == [
        (unowned.KEPT_FILES, (later,))
    ]
    assert stored(filled) == known | {later}
    call_command("verify", "--repair", "--forget-restore")
    assert stored(filled) == known


def test_a_database_restored_by_other_means_is_noticed(filled: Namespace):
    assert unowned.kept_until() is None
    with connections["owner"].cursor() as cursor:
        cursor.execute("UPDATE documents_databaseidentity SET identity = 'another/1/1'")
    orphan = originals.store(ContentFile(b"of a younger document"), namespace_id=filled.pk)
    orphan = in_folder_of_earlier_days(orphan)
    age(orphan)
    assert unowned.kept_until() is not None
    housekeeping.tidy()
    assert orphan in stored(filled)
    unowned.forget_restore()
    housekeeping.tidy()
    assert orphan not in stored(filled)


def test_housekeeping_makes_up_for_deferred_removals(filled: Namespace, api: Api):
    with operator():
        ids = list(Document.objects.values_list("pk", flat=True))
    with deferred_removals.removals_deferred():
        for document_id in ids:
            assert api.delete(f"documents/{document_id}").status == 200
        for key in stored(filled):
            age(key)
        housekeeping.tidy()
        assert len(stored(filled)) == 2
        assert auditing.verify(repair=True).is_clean
        assert len(stored(filled)) == 2
    assert not auditing.verify().is_clean  # nobody has removed them yet
    housekeeping.tidy()
    assert stored(filled) == set()
    assert auditing.verify().is_clean
