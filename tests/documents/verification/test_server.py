"""What `verify` finds on the server as a whole: holes in the wall, and files of cut uploads."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from documents.models import Namespace
from documents.verification.auditing import verify
from ragsite.platform import temporary_files

from .breaking import by_owner, found

DAYS_AGO = time.time() - 3 * 24 * 3600


@pytest.fixture
def changed(healthy: Namespace) -> Any:
    """Change the catalogue, and undo it afterwards."""
    undoing: list[str] = []

    def change(statement: str, undo: str) -> None:
        undoing.append(undo)
        by_owner(statement)

    yield change
    for statement in undoing:
        by_owner(statement)


@pytest.mark.parametrize(
    ("statement", "undo"),
    [
        (
            "ALTER TABLE documents_chunk DISABLE ROW LEVEL SECURITY",
            "ALTER TABLE documents_chunk ENABLE ROW LEVEL SECURITY",
        ),
        (
            "ALTER TABLE documents_chunk NO FORCE ROW LEVEL SECURITY",
            "ALTER TABLE documents_chunk FORCE ROW LEVEL SECURITY",
        ),
        (
            "CREATE POLICY open ON documents_chunk TO ragsite_app USING (true)",
            "DROP POLICY open ON documents_chunk",
        ),
    ],
)
def test_a_hole_in_the_wall_between_tenants_is_found(
    changed: Callable[[str, str], None], statement: str, undo: str
):
    changed(statement, undo)
    report = verify()
    assert found(report) == ["isolation"]
    (finding,) = report.findings
    assert finding.examples == ("documents_chunk",)
    assert not finding.can_repair


@pytest.fixture
def folder(settings: Any, tmp_path: Path) -> Path:
    settings.FILE_UPLOAD_TEMP_DIR = str(tmp_path)
    old, young = tmp_path / "old.upload", tmp_path / "young.upload"
    for path in (old, young):
        path.write_text("half of a file")
    os.utime(old, (DAYS_AGO, DAYS_AGO))
    return tmp_path


def test_files_of_uploads_that_were_cut_off_are_found_and_deleted(healthy: Namespace, folder: Path):
    report = verify()
    assert found(report) == ["orphans"]
    assert report.findings[0].examples == ("old.upload",)
    repaired = verify(repair=True)
    assert repaired.is_clean
    assert [path.name for path in folder.iterdir()] == ["young.upload"]


def test_housekeeping_deletes_them_too(folder: Path):
    assert temporary_files.remove_left_behind() == 1
    assert [path.name for path in folder.iterdir()] == ["young.upload"]
