"""Archives that are damaged, or that lie: nothing of them is imported."""

import hashlib
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from documents.archives import importing
from documents.archives.errors import ArchiveRefused
from documents.archives.importing import import_namespace
from documents.intake import originals
from documents.models import (
    Namespace,
)

from ...client import Api
from ..test_tenant_wall import rows, tenant_tables
from .archives import counts_of, exported

pytestmark = pytest.mark.usefixtures("db")


def rewritten(path: Path, to: Path, change: Callable[[dict[str, bytes]], None]) -> Path:
    """Change members of an archive and give it matching checksums, as somebody hostile would."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    end = json.loads(members.pop("end.json"))
    change(members)
    listed = {
        name: {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
        for name, data in members.items()
        if name != "archive.json"
    }
    with zipfile.ZipFile(to, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
        archive.writestr("end.json", json.dumps({**end, "members": listed}))
    return to


def every_row() -> dict[str, int]:
    return {
        table: rows(f"SELECT count(*) FROM {table}")[0][0]
        for table, _ in tenant_tables()
        if table not in ("documents_auditevent", "retrieval_querylog")
    }


def assert_refused(path: Path, sentence: str) -> None:
    before = every_row()
    folders = sorted(originals.namespace_folders())
    with pytest.raises(ArchiveRefused, match=sentence):
        import_namespace(path, slug="hostile")
    after = every_row()
    after["documents_indexprofile"] = before["documents_indexprofile"]  # swept later
    assert after == before
    assert sorted(originals.namespace_folders()) == folders


def test_a_file_that_was_cut_off_or_changed_is_refused(full: Namespace, tmp_path: Path):
    path = exported(full, tmp_path / "a")
    data = path.read_bytes()
    for number, share in enumerate((0.0, 0.3, 0.7, 0.99)):
        cut = tmp_path / f"cut-{number}"
        cut.write_bytes(data[: int(len(data) * share)])
        assert_refused(cut, "no complete archive")
    flipped = bytearray(data)
    flipped[len(data) // 2] ^= 0xFF
    (tmp_path / "flipped").write_bytes(flipped)
    assert_refused(tmp_path / "flipped", "damaged|checksum|no complete archive")
    assert_refused(tmp_path / "nowhere", "no file")


def lines(members: dict[str, bytes], table: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in members[f"rows/{table}.jsonl"].splitlines()]


def put(members: dict[str, bytes], table: str, found: list[dict[str, Any]]) -> None:
    text = "".join(f"{json.dumps(row)}\n" for row in found)
    members[f"rows/{table}.jsonl"] = text.encode()


def describe(members: dict[str, bytes], **changes: Any) -> None:
    found = json.loads(members["archive.json"]) | changes
    members["archive.json"] = json.dumps(found).encode()


def lacks_originals(members: dict[str, bytes]) -> None:
    for name in [name for name in members if name.startswith("originals/")]:
        del members[name]


def has_short_vectors(members: dict[str, bytes]) -> None:
    found = lines(members, "documents_chunk")
    put(members, "documents_chunk", [{**row, "embedding": "[1,2,3]"} for row in found])


def lacks_words(members: dict[str, bytes]) -> None:
    put(members, "documents_chunkterms", [])


def has_orphans(members: dict[str, bytes]) -> None:
    put(members, "documents_document", lines(members, "documents_document")[:1])


def has_nonsense(members: dict[str, bytes]) -> None:
    members["rows/documents_fact.jsonl"] = b"{not json}\n"


def has_a_stranger(members: dict[str, bytes]) -> None:
    members["../../etc/passwd"] = b"root"


def has_a_table_of_operators(members: dict[str, bytes]) -> None:
    tables = json.loads(members["archive.json"])["tables"]
    describe(members, tables={**tables, "auth_user": ["id", "is_superuser"]})
    members["rows/auth_user.jsonl"] = b'{"id": 1, "is_superuser": true}\n'


def has_a_column_of_tomorrow(members: dict[str, bytes]) -> None:
    tables = json.loads(members["archive.json"])["tables"]
    tables["documents_document"].append('id") VALUES (1); --')
    describe(members, tables=tables)


def is_of_tomorrow(members: dict[str, bytes]) -> None:
    describe(members, format=2)


def is_something_else(members: dict[str, bytes]) -> None:
    describe(members, kind="holiday pictures")


def has_another_model(members: dict[str, bytes]) -> None:
    profile = json.loads(members["archive.json"])["profile"]
    describe(members, profile={**profile, "model_identity": "somebody/else@1"})


def has_a_bad_slug(members: dict[str, bytes]) -> None:
    found = json.loads(members["archive.json"])["namespace"]
    describe(members, namespace={**found, "language": "klingon"})


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lacks_originals, "original is not in the archive"),
        (has_short_vectors, "another size|dimensions"),
        (lacks_words, "without their words"),
        (has_orphans, "Nothing was imported"),
        (has_nonsense, "Nothing was imported"),
        (has_a_stranger, "unknown kind"),
        (has_a_table_of_operators, "newer version"),
        (has_a_column_of_tomorrow, "newer version"),
        (is_of_tomorrow, "newer version"),
        (is_something_else, "no archive of a namespace"),
        (has_another_model, "no embedder of this server"),
        (has_a_bad_slug, "lowercase letters"),
    ],
)
def test_an_archive_that_does_not_hold_together_imports_nothing(
    full: Namespace,
    tmp_path: Path,
    change: Callable[[dict[str, bytes]], None],
    sentence: str,
):
    path = exported(full, tmp_path / "a")
    assert_refused(rewritten(path, tmp_path / "b", change), sentence)


def test_rows_that_name_another_namespace_still_come_into_the_new_one(
    full: Namespace, other_tenant: Namespace, api_of: Callable[..., Api], tmp_path: Path
):
    theirs = api_of(other_tenant).upload(("secret.md", "# Secret\n\nTheirs."))
    document_id = theirs.body["results"][0]["document_id"]

    def aim_at_others(members: dict[str, bytes]) -> None:
        for name in [name for name in members if name.startswith("rows/")]:
            table = name.removeprefix("rows/").removesuffix(".jsonl")
            found = lines(members, table)
            put(members, table, [{**row, "namespace_id": str(other_tenant.pk)} for row in found])
        versions = lines(members, "documents_documentversion")
        for row in versions:
            if row["storage_key"]:
                row["storage_key"] = f"uploads/{other_tenant.pk}/2026-01-01/{document_id}"
        put(members, "documents_documentversion", versions)

    theirs_before, ours = counts_of(other_tenant), counts_of(full)
    path = rewritten(exported(full, tmp_path / "a"), tmp_path / "b", aim_at_others)
    done = import_namespace(path, slug="copy")
    assert counts_of(other_tenant) == theirs_before
    assert counts_of(done.namespace) == ours
    keys = rows(
        "SELECT storage_key FROM documents_documentversion WHERE namespace_id = %s "
        "AND storage_key <> ''",
        [done.namespace.pk],
    )
    assert keys
    assert all(key.startswith(f"uploads/{done.namespace.pk}/") for (key,) in keys)


def test_links_to_another_tenants_rows_are_refused(
    full: Namespace, other_tenant: Namespace, api_of: Callable[..., Api], tmp_path: Path
):
    theirs = api_of(other_tenant).upload(("secret.md", "# Secret\n\nTheirs."))
    document_id = theirs.body["results"][0]["document_id"]

    def aim_at_others(members: dict[str, bytes]) -> None:
        found = lines(members, "documents_chunk")
        put(members, "documents_chunk", [{**row, "document_id": document_id} for row in found])

    path = rewritten(exported(full, tmp_path / "a"), tmp_path / "b", aim_at_others)
    assert_refused(path, "Nothing was imported")


def test_an_import_that_breaks_off_leaves_nothing(
    full: Namespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = exported(full, tmp_path / "a")

    def broken(*arguments: Any) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(importing, "_require_whole", broken)
    assert_refused(path, "the disk is full")
