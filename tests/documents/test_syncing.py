"""A namespace in step with a folder: renamed files keep their document, gone ones go, and nothing
that came from elsewhere is touched."""

import json
import shutil
import zipfile
from pathlib import Path

import pytest
from django.core.management import CommandError

from documents.models import AuditEvent, Document, Namespace
from ragsite.database.tenancy import operator

from ..client import Api
from .test_commands import run, run_to_exit_1


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "docs"
    for name in ("a/README.md", "b/README.md", "notes.txt"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"# {name}\n\nWords of {name}.")
    return root


def sync(folder: Path, *options: str) -> str:
    return run("ingest", folder, "--namespace", "tenant", "--sync", *options)


def documents() -> dict[str, Document]:
    with operator():
        return {document.source_uri: document for document in Document.objects.all()}


def test_files_are_known_by_their_path_below_the_folder(tenant: Namespace, folder: Path):
    run("ingest", folder, "--namespace", "tenant")
    assert set(documents()) == {"a/README.md", "b/README.md", "notes.txt"}
    run("ingest", folder / "a", "--namespace", "tenant", "--prefix", "other", "--on-duplicate=keep")
    assert "other/README.md" in documents()
    single = (folder / "b/README.md", "--root", folder, "--prefix", "x", "--on-duplicate=keep")
    run("ingest", *single, "--namespace", "tenant")
    assert "x/b/README.md" in documents()


def test_the_same_path_from_another_folder_replaces_nothing(
    tenant: Namespace, folder: Path, tmp_path: Path
):
    run("ingest", folder, "--namespace", "tenant")
    other = tmp_path / "elsewhere"
    other.mkdir()
    (other / "notes.txt").write_text("Something else.")
    ingest = ("ingest", other, "--namespace", "tenant")
    printed = run_to_exit_1(*ingest)
    assert "source_uri_taken: 'notes.txt' is here already and came from folder:" in printed
    assert documents()["notes.txt"].document_version == 1
    run(*ingest, "--prefix", "elsewhere")
    assert documents()["elsewhere/notes.txt"].document_version == 1
    run(*ingest, "--adopt")
    adopted = documents()["notes.txt"]
    assert (adopted.document_version, adopted.origin) == (2, f"folder:{other.resolve()}")


def test_two_files_of_one_name_in_a_command_are_not_both_taken(tenant: Namespace, folder: Path):
    files = (folder / "a/README.md", folder / "b/README.md")
    printed = run_to_exit_1("ingest", *files, "--namespace", "tenant")
    assert "README.md" in printed
    assert "1 ready, 1 rejected" in printed
    assert len(documents()) == 1


def test_new_changed_renamed_and_gone_files_are_followed(tenant: Namespace, folder: Path, api: Api):
    first = sync(folder)
    assert first.endswith(
        "3 new, 0 changed, 0 renamed, 0 unchanged, 0 gone, 0 deleted, 0 chunks_deleted\n"
    )
    before = documents()
    (folder / "a/README.md").rename(folder / "a/moved.md")
    (folder / "b/README.md").write_text("# Other\n\nWords.")
    (folder / "notes.txt").unlink()
    (folder / "fresh.md").write_text("# Fresh")
    plan = sync(folder, "--dry-run")
    assert plan.splitlines() == [
        "new      fresh.md",
        "changed  b/README.md",
        "renamed  a/README.md -> a/moved.md",
        "gone     notes.txt",
        "1 new, 1 changed, 1 renamed, 0 unchanged, 1 gone",
    ]
    assert documents().keys() == before.keys()
    sync(folder, "--yes")
    after = documents()
    assert set(after) == {"a/moved.md", "b/README.md", "fresh.md"}
    assert after["a/moved.md"].pk == before["a/README.md"].pk
    assert after["a/moved.md"].document_version == 1
    assert after["b/README.md"].document_version == 2
    assert api.query("words", filters={"source_types": ["txt"]}).body["results"] == []
    assert "0 new, 0 changed, 0 renamed, 3 unchanged, 0 gone" in sync(folder)
    with operator():
        deletion = AuditEvent.objects.get(action="document.delete")
    assert deletion.details["sync"] == f"folder:{folder.resolve()}"


def test_what_came_from_elsewhere_is_never_deleted(
    tenant: Namespace, folder: Path, tmp_path: Path, api: Api
):
    api.upload(("upload.md", "# Uploaded"))
    api.post("ingest", {"documents": [{"content": "# Bare", "source_uri": "notes2.txt"}]})
    other = tmp_path / "other"
    other.mkdir()
    (other / "theirs.md").write_text("# Theirs")
    sync(other)
    sync(folder)
    (folder / "notes.txt").unlink()
    sync(folder, "--yes")
    assert set(documents()) == {
        "upload:upload.md",
        "notes2.txt",
        "theirs.md",
        "a/README.md",
        "b/README.md",
    }


def test_deletions_are_asked_for(tenant: Namespace, folder: Path):
    sync(folder)
    (folder / "notes.txt").unlink()
    (folder / "fresh.md").write_text("# Fresh")
    with pytest.raises(CommandError, match="1 document would be deleted: confirm it with --yes"):
        sync(folder)
    assert set(documents()) == {"a/README.md", "b/README.md", "notes.txt"}


def test_an_empty_or_missing_folder_deletes_nothing_unless_forced(tenant: Namespace, folder: Path):
    sync(folder)
    shutil.rmtree(folder)
    with pytest.raises(CommandError, match="No such folder"):
        sync(folder, "--yes")
    folder.mkdir()
    with pytest.raises(CommandError, match=r"3 documents would be deleted\. Is it the right one"):
        sync(folder, "--yes")
    assert len(documents()) == 3
    folder.rmdir()
    sync(folder, "--yes", "--force")
    assert documents() == {}


def test_a_folder_with_a_name_may_move(tenant: Namespace, folder: Path, tmp_path: Path):
    sync(folder, "--source", "handbook")
    moved = tmp_path / "checkout-2"
    folder.rename(moved)
    assert "3 unchanged, 0 gone" in sync(moved, "--source", "handbook")


def test_equal_files_are_documents_of_their_own(tenant: Namespace, folder: Path):
    shutil.copy(folder / "notes.txt", folder / "copy.txt")
    sync(folder)
    assert len(documents()) == 4
    assert "4 unchanged" in sync(folder)


def test_an_archive_in_the_folder_is_followed_file_by_file(tenant: Namespace, folder: Path):
    def pack(**files: str) -> None:
        with zipfile.ZipFile(folder / "old.zip", "w") as archive:
            for name, text in files.items():
                archive.writestr(f"{name}.md", text)

    pack(one="# One", two="# Two")
    sync(folder)
    assert {"old.zip!/one.md", "old.zip!/two.md"} < set(documents())
    pack(one="# One, changed")
    assert "1 changed, 0 renamed, 3 unchanged, 1 gone" in sync(folder, "--yes")
    assert documents()["old.zip!/one.md"].document_version == 2


def test_a_plan_and_its_outcome_as_json(tenant: Namespace, folder: Path):
    lines = [json.loads(line) for line in sync(folder, "--json").splitlines()]
    assert [line["action"] for line in lines[:3]] == ["new"] * 3
    assert [line["status"] for line in lines[3:6]] == ["ready"] * 3
    assert lines[6]["summary"]["new"] == 3


def test_documents_of_an_earlier_release_are_recognised_by_their_address(
    tenant: Namespace, folder: Path
):
    run("ingest", folder, "--namespace", "tenant")
    with operator():
        for document in Document.objects.all():
            document.source_uri = (folder / document.source_uri).resolve().as_uri()
            document.origin = ""
            document.save()
    (folder / "notes.txt").write_text("Changed.")
    sync(folder)
    assert set(documents()) == {"a/README.md", "b/README.md", "notes.txt"}
    assert documents()["notes.txt"].document_version == 2


def test_an_encoding_holds_for_all_files(tenant: Namespace, folder: Path, api: Api):
    (folder / "latin.txt").write_bytes("naïve café".encode("cp850"))
    file = (folder / "latin.txt", "--namespace", "tenant")
    with pytest.raises(CommandError, match="no encoding 'klingon'"):
        run("ingest", *file, "--encoding", "klingon")
    run("ingest", *file, "--encoding", "cp850")
    path = f"documents/{documents()['latin.txt'].pk}/text"
    assert api.get(path).body["text"] == "naïve café"
