"""`manage.py verify`: silent where all is well; originals, states, versions, and the command."""

import json
import os
import time
import uuid
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.core.management import CommandError, call_command

from documents.intake import originals
from documents.models import Namespace
from documents.verification import auditing
from documents.verification.auditing import verify
from tests.client import Api

from .breaking import (
    assert_found,
    assert_mended,
    assert_mended_by_workers,
    by_owner,
    document,
    found,
    live_version,
)


def test_a_healthy_namespace_has_no_findings(healthy: Namespace, other_tenant: Namespace):
    report = verify()
    assert report.findings == []
    assert report.namespaces == 2
    assert report.checks > 50
    assert verify([healthy], fast=True).is_clean
    assert verify(repair=True).repaired == []


def test_work_that_waits_or_runs_is_no_fault(api: Api, tenant: Namespace):
    api.upload(("a.md", "A"), ("b.md", "B"))
    by_owner(
        "UPDATE documents_ingestjob SET state = 'running', lease_until = now() + interval '1 min' "
        "WHERE id = (SELECT id FROM documents_ingestjob LIMIT 1)"
    )
    assert verify().is_clean


def test_what_clients_delete_leaves_nothing_behind(
    healthy: Namespace, api: Api, work: Callable[[], int]
):
    assert api.delete(f"documents/{document('notes.md').pk}").status == 200
    turn = api.get("memories").body["results"][0]
    assert api.delete(f"memories/{turn['id']}").status in (200, 204)
    work()
    assert verify().findings == []


# -- originals -----------------------------------------------------------------------------


def test_a_missing_original_is_found(healthy: Namespace):
    version = live_version("kiln.pdf")
    default_storage.delete(version.storage_key)
    assert_found("originals", example=version.pk)
    assert found(verify(fast=True)) == ["originals"]
    report = verify(repair=True)  # nothing can bring it back
    assert found(report) == ["originals"]
    assert not report.findings[0].can_repair


def test_a_changed_original_is_found_by_its_checksum(healthy: Namespace):
    version = live_version("notes.md")
    path = Path(default_storage.path(version.storage_key))
    path.chmod(0o600)
    path.write_bytes(path.read_bytes().replace(b"ink", b"oil"))
    assert_found("originals", example=version.pk)
    assert verify(fast=True).is_clean  # of the same size
    path.write_bytes(b"short")
    assert found(verify(fast=True)) == ["originals"]


def test_a_file_without_a_row_is_deleted_when_it_is_old(healthy: Namespace):
    key = originals.store(ContentFile(b"x"), namespace_id=healthy.pk)
    assert verify().is_clean  # its row may follow
    two_days_ago = time.time() - 2 * 86_400
    os.utime(default_storage.path(key), (two_days_ago, two_days_ago))
    assert_found("orphans", what="files belong to no version", example=key)
    assert_mended("orphans")
    assert not default_storage.exists(key)


def test_files_of_an_unknown_namespace_are_reported_and_kept(tenant: Namespace):
    key = originals.store(ContentFile(b"x"), namespace_id=uuid.uuid4())
    two_days_ago = time.time() - 2 * 86_400
    os.utime(default_storage.path(key), (two_days_ago, two_days_ago))
    (finding,) = verify().findings
    assert (finding.check, finding.namespace, finding.examples) == ("orphans", "", (key,))
    assert verify([tenant]).is_clean  # not of this namespace
    assert found(verify(repair=True)) == ["orphans"]
    assert default_storage.exists(key)  # it may be another installation's


def test_a_storage_that_fails_is_reported_and_nothing_is_deleted(
    healthy: Namespace, monkeypatch: pytest.MonkeyPatch
):
    def fail(folder: str) -> Any:
        raise OSError("no route")

    monkeypatch.setattr(default_storage._wrapped, "listdir", fail)
    report = verify(repair=True)
    assert found(report) == ["orphans"]
    assert all("could not be checked" in finding.what for finding in report.findings)


# -- states and versions -------------------------------------------------------------------


@pytest.mark.parametrize("status", ["queued", "processing"])
def test_a_stuck_document_is_queued_again(healthy: Namespace, work: Callable[[], int], status: str):
    stuck = document("notes.md")
    by_owner("UPDATE documents_document SET status = %s WHERE id = %s", status, stuck.pk)
    assert_found("states", what="no job is open", example=stuck.pk)
    assert_mended_by_workers("states", work)
    assert document("notes.md").status == "ready"


def test_a_failure_without_a_code_is_tried_again(healthy: Namespace, work: Callable[[], int]):
    by_owner("UPDATE documents_document SET error_code = '' WHERE status = 'failed'")
    assert_found("states", what="no error code", example=document("broken.pdf").pk)
    assert_mended_by_workers("states", work)
    assert document("broken.pdf").error_code


def test_an_older_version_that_is_stuck_is_cancelled(healthy: Namespace):
    by_owner("UPDATE documents_documentversion SET state = 'queued' WHERE state = 'superseded'")
    assert_found("states", what="older versions")
    assert_mended("states")


def test_a_ready_document_without_a_live_version_is_indexed_again(
    healthy: Namespace, work: Callable[[], int]
):
    notes, version = document("notes.md"), live_version("notes.md")
    by_owner("UPDATE documents_documentversion SET state = 'superseded' WHERE id = %s", version.pk)
    report = verify()
    assert "live_versions" in found(report)
    assert verify(repair=True).findings
    work()
    assert verify().is_clean
    by_owner("UPDATE documents_document SET live_version = NULL WHERE id = %s", notes.pk)
    assert_found("live_versions", example=notes.pk)
    assert_mended_by_workers("live_versions", work)
    assert document("notes.md").live_version == 2


def test_a_document_that_has_lost_its_newest_version_is_reported(healthy: Namespace):
    notes = document("notes.md")
    by_owner("UPDATE documents_document SET document_version = 9 WHERE id = %s", notes.pk)
    assert_found("live_versions", what="no newest version", example=notes.pk)


# -- the command ----------------------------------------------------------------------------


def run(*arguments: str) -> tuple[int, str]:
    out = StringIO()
    try:
        call_command("verify", *arguments, stdout=out, stderr=out)
    except SystemExit as exit_:
        return int(str(exit_.code)), out.getvalue()
    return 0, out.getvalue()


def test_the_command_says_what_is_wrong_and_how_it_ends(
    healthy: Namespace, other_tenant: Namespace
):
    code, printed = run()
    assert (code, printed.rstrip()[-32:]) == (0, ": everything is as it should be.")
    assert printed.startswith("2 namespaces, ")
    by_owner("UPDATE documents_namespaceusage SET documents = 77")
    code, printed = run("--namespace", "tenant")
    assert code == 1
    assert "found   * tenant" in printed
    assert "counters" in printed
    assert "run it again with --repair" in printed
    assert run("--namespace", "other")[0] == 0
    code, printed = run("--repair", "--namespace", "tenant", "--namespace", "other")
    assert code == 0
    assert "repaired  tenant" in printed
    assert "1 counted again" in printed
    assert run("--fast")[0] == 0
    with pytest.raises(CommandError, match="nobody"):
        run("--namespace", "nobody")


def test_the_report_as_json_holds_no_content(healthy: Namespace):
    notes = document("notes.md")
    by_owner("UPDATE documents_document SET status = 'queued' WHERE id = %s", notes.pk)
    code, printed = run("--json")
    report = json.loads(printed)
    assert (code, report["clean"], report["namespaces"]) == (1, False, 1)
    (finding,) = report["findings"]
    assert finding.pop("what").startswith("documents wait or are being indexed")
    assert finding == {
        "check": "states",
        "namespace": "tenant",
        "count": 1,
        "examples": [str(notes.pk)],
        "can_repair": True,
        "repair": "",
    }
    assert "harbour" not in printed.lower()


def test_what_is_found_once_only_is_not_reported(
    healthy: Namespace, monkeypatch: pytest.MonkeyPatch
):
    """A fault that has gone when it is looked at again was work in flight."""
    by_owner("UPDATE documents_namespaceusage SET documents = documents + 1")

    def finish() -> None:
        by_owner("UPDATE documents_namespaceusage SET documents = documents - 1")

    monkeypatch.setattr(auditing, "_pause", finish)
    assert verify().is_clean
