"""What operators type: namespace, api_key, ingest, search; what they print and how they exit."""

import json
import os
import re
import threading
from collections.abc import Callable
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connections
from django.db.models.functions import Now
from django.test import Client
from django.utils import timezone

from documents.jobs import queue
from documents.models import ApiKey, Document, IngestJob, Namespace
from ragsite.database.tenancy import operator

from ..client import Api


def run(*arguments: object) -> str:
    out = StringIO()
    call_command(*map(str, arguments), stdout=out, stderr=out)
    return out.getvalue()


def run_to_exit_1(*arguments: object) -> str:
    out = StringIO()
    with pytest.raises(SystemExit) as exit_:
        call_command(*map(str, arguments), stdout=out, stderr=out)
    assert exit_.value.code == 1
    return out.getvalue()


def documents() -> dict[str, Document]:
    with operator():
        return {d.source_uri.rsplit("/", 1)[-1]: d for d in Document.objects.all()}


# -- namespace -----------------------------------------------------------------------------


def test_a_namespace_is_made_and_listed(db: None):
    assert run("namespace", "create", "acme", "--name", "Acme Ltd") == "Namespace acme created.\n"
    assert run("namespace", "list") == "acme\t0 documents\tAcme Ltd\n"
    with pytest.raises(CommandError, match="already exists"):
        run("namespace", "create", "acme")
    assert run("namespace", "create", "acme", "--exist-ok") == ""
    with pytest.raises(CommandError, match="lowercase letters"):
        run("namespace", "create", "Not OK")
    with operator():
        assert Namespace.objects.count() == 1


def test_a_list_of_namespaces_counts_their_documents(
    tenant: Namespace, other_tenant: Namespace, api: Api
):
    api.upload(("a.md", "A"), ("b.md", "B"))
    assert run("namespace", "list") == "other\t0 documents\t\ntenant\t2 documents\t\n"


# -- api_key ---------------------------------------------------------------------------------


def test_api_key_create_prints_the_key_and_nothing_else(tenant: Namespace, client: Client):
    printed = run("api_key", "create", "--namespace", "tenant")
    assert re.fullmatch(r"rs_[0-9a-f]{12}_[A-Za-z0-9_-]{43}\n", printed)
    api = Api(client, printed.strip())
    assert api.get("documents").status == 200
    assert api.upload(("a.md", "A")).status == 202


def test_a_key_has_the_scopes_and_the_end_that_were_asked_for(tenant: Namespace, client: Client):
    create = ("api_key", "create", "--namespace", "tenant")
    plain = run(*create, "--scopes", "read, admin", "--name", "ci", "--expires-in-days", 3)
    with operator():
        key = ApiKey.objects.get()
    assert (key.name, key.scopes) == ("ci", ["read", "admin"])
    assert timedelta(days=2.9) < key.expires_at - timezone.now() < timedelta(days=3.1)
    with operator():
        ApiKey.objects.update(expires_at=Now())
    assert Api(client, plain.strip()).get("documents").code == "key_expired"


@pytest.mark.parametrize(
    "wrong",
    [
        ("--scopes", "read,root"),
        ("--scopes", ""),
        ("--scopes", "read,,write"),
        ("--expires-in-days", "0"),
        ("--expires-in-days", "-1"),
        ("--expires-in-days", "9999999"),
    ],
)
def test_a_key_that_makes_no_sense_is_not_made(wrong: tuple[str, str], tenant: Namespace):
    with pytest.raises(CommandError):
        run("api_key", "create", "--namespace", "tenant", f"{wrong[0]}={wrong[1]}")
    with operator():
        assert not ApiKey.objects.exists()


def test_keys_are_listed_without_secrets_and_revoked_by_prefix(tenant: Namespace, client: Client):
    plain = run("api_key", "create", "--namespace", "tenant", "--name", "ci").strip()
    prefix = plain.split("_")[1]

    def listed() -> list[str]:
        return run("api_key", "list", "--namespace", "tenant").strip().split("\t")

    assert listed() == [f"rs_{prefix}_…", "read,write", "active", "used never", "ci"]
    Api(client, plain).get("documents")
    assert listed()[3] != "used never"
    with operator():
        ApiKey.objects.update(expires_at=Now() - timedelta(seconds=1))
    assert listed()[2] == "expired"
    assert run("api_key", "revoke", prefix) == "Revoked.\n"
    assert listed()[2] == "revoked"
    assert Api(client, plain).get("documents").code == "key_revoked"
    with pytest.raises(CommandError, match="no active key"):
        run("api_key", "revoke", prefix)


@pytest.mark.parametrize(
    "command",
    [
        ("api_key", "create", "--namespace", "acme"),
        ("api_key", "list", "--namespace", "acme"),
        ("ingest", ".", "--namespace", "acme"),
        ("search", "lights", "--namespace", "acme"),
    ],
)
def test_a_namespace_that_is_not_there_is_answered_with_those_that_are(
    command: tuple[str, ...], tenant: Namespace, other_tenant: Namespace
):
    with pytest.raises(CommandError, match=r"no namespace 'acme' \(there are: other, tenant\)"):
        run(*command)


# -- ingest --------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    files = {
        "harbour.md": "# Harbour\n\nTwelve lights.",
        "sub/deeper/kitchen.txt": "Knead the dough.",
        "sub/UPPER.MD": "# Upper\n\nCase.",
        ".hidden.md": "# Hidden",
        ".git/notes.md": "# Hidden, too",
        "picture.gif": "not for us",
    }
    for name, text in files.items():
        path = tmp_path / "docs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "docs"


def test_a_folder_is_taken_in_with_its_sub_folders_and_is_searchable(
    tenant: Namespace, folder: Path, api: Api
):
    printed = run("ingest", folder, "--namespace", "tenant", "--tags", "manual, sea")
    assert printed == "3 ready\n"
    found = documents()
    assert set(found) == {"harbour.md", "kitchen.txt", "UPPER.MD"}
    assert found["harbour.md"].source_uri == "harbour.md"
    assert all(document.tags == ["manual", "sea"] for document in found.values())
    assert api.query("lights").body["results"][0]["title"] == "Harbour"


def test_a_second_run_finds_duplicates_and_a_change_is_a_new_version(
    tenant: Namespace, folder: Path
):
    ingest = ("ingest", folder, "--namespace", "tenant")
    run(*ingest)
    assert run(*ingest) == "3 duplicate\n"
    (folder / "harbour.md").write_text("# Harbour\n\nThirteen lights.")
    assert run(*ingest) == "2 duplicate, 1 ready\n"
    assert documents()["harbour.md"].live_version == 2


def test_one_bad_file_fails_the_run_and_not_the_others(tenant: Namespace, folder: Path):
    (folder / "blank.md").write_text(" \n ")
    (folder / "binary.md").write_bytes(b"\x00\x01\x02")
    printed = run_to_exit_1("ingest", folder, "--namespace", "tenant")
    assert "blank.md: no_text: " in printed
    assert "binary.md: type_mismatch: " in printed
    assert printed.endswith("1 failed, 3 ready, 1 rejected\n")


def test_json_lines_say_what_became_of_each_file(tenant: Namespace, folder: Path):
    (folder / "blank.md").write_text(" \n ")
    printed = run_to_exit_1(
        "ingest", folder, folder / "picture.gif", "--namespace", "tenant", "--json"
    )
    lines = {Path(line["path"]).name: line for line in map(json.loads, printed.splitlines())}
    assert len(lines) == 5
    harbour = lines["harbour.md"]
    assert (harbour["status"], harbour["version"], harbour["chunks"]) == ("ready", 1, 1)
    assert harbour["document_id"] == str(documents()["harbour.md"].pk)
    assert (lines["blank.md"]["status"], lines["blank.md"]["code"]) == ("failed", "no_text")
    refused = lines["picture.gif"]
    assert (refused["status"], refused["code"]) == ("rejected", "unsupported_type")


def test_files_can_be_queued_only(tenant: Namespace, folder: Path, work: Callable[[], int]):
    assert run("ingest", folder, "--namespace", "tenant", "--no-wait") == "3 queued\n"
    assert work() == 3


def test_the_duplicate_policy_holds_for_files(tenant: Namespace, folder: Path):
    ingest = ("ingest", folder, "--namespace", "tenant")
    run(*ingest)
    (folder / "copy.md").write_text((folder / "harbour.md").read_text())
    assert "1 rejected" in run_to_exit_1(*ingest, "--on-duplicate", "error")
    assert run(*ingest) == "4 duplicate\n"
    assert run(*ingest, "--on-duplicate", "keep") == "3 duplicate, 1 ready\n"


def test_a_path_that_is_not_there_and_a_folder_with_nothing_are_said(
    tenant: Namespace, tmp_path: Path
):
    with pytest.raises(CommandError, match=r"No such file or folder: .*nowhere"):
        run("ingest", tmp_path / "nowhere", "--namespace", "tenant")
    with pytest.raises(CommandError, match="nothing to ingest"):
        run("ingest", tmp_path, "--namespace", "tenant")


def test_odd_file_names_stop_nobody(tenant: Namespace, folder: Path, api: Api):
    odd = (b"caf\xe9.md", b"new\nline.md", "🚢.md".encode(), b"per%20cent.md", b"quo\"te'.md")
    for name in odd:
        with open(os.fsencode(folder) + b"/" + name, "wb") as opened:
            opened.write(b"# Odd\n\n" + name)
    printed = run("ingest", folder, "--namespace", "tenant", "--json")
    lines = [json.loads(line) for line in printed.splitlines()]
    assert [line["status"] for line in lines] == ["ready"] * 8
    assert printed.encode()  # a terminal has to be able to show it
    for line in lines:
        assert api.get(f"documents/{line['document_id']}/original").status == 200


def test_a_run_after_one_that_was_killed_finishes_its_work(tenant: Namespace, folder: Path):
    """Nobody else is up: no worker, no supervisor that takes jobs back."""
    run("ingest", folder, "--namespace", "tenant", "--no-wait")
    assert queue.claim("host:killed")
    with operator():
        IngestJob.objects.filter(state="running").update(lease_until=Now() - timedelta(seconds=1))
    printed: list[str] = []

    def again() -> None:
        printed.append(run("ingest", folder, "--namespace", "tenant"))
        connections.close_all()

    thread = threading.Thread(target=again)
    thread.start()
    thread.join(timeout=10)
    finished = not thread.is_alive()
    queue.requeue_stalled()  # so that the command ends in any case
    thread.join()
    assert finished
    assert printed == ["3 ready\n"]


# -- search ----------------------------------------------------------------------


@pytest.fixture
def searchable(tenant: Namespace, folder: Path) -> Any:
    run("ingest", folder / "harbour.md", "--namespace", "tenant", "--tags", "sea")
    run("ingest", folder / "sub", "--namespace", "tenant", "--tags", "land")


@pytest.mark.usefixtures("searchable")
def test_search_prints_passages_with_their_sources():
    search = ("search", "lights", "--namespace", "tenant", "--mode", "lexical")
    printed = run(*search)
    assert printed.startswith("[1] Harbour")
    assert "    harbour.md  characters 0–" in printed
    assert "Twelve lights." in printed
    assert "[2]" not in printed
    nothing = run(
        "search", "lights", "--namespace", "tenant", "--tags", "land", "--mode", "lexical"
    )
    assert nothing == "Nothing found.\n"


@pytest.mark.usefixtures("searchable")
def test_search_takes_the_apis_filters_as_json():
    search = ("search", "lights", "--namespace", "tenant", "--mode", "lexical", "--filter")
    assert run(*search, '{"tags": {"none": ["land"]}}').startswith("[1] Harbour")
    assert run(*search, '{"tags": {"none": ["sea"]}}') == "Nothing found.\n"
    with pytest.raises(CommandError, match="not JSON"):
        run(*search, "{tags}")
    with pytest.raises(CommandError, match=r"metadata.*\$like"):
        run(*search, '{"metadata": {"a": {"$like": 1}}}')
    with pytest.raises(CommandError, match="not both"):
        run(*search, '{"tags": ["sea"]}', "--tags", "sea")


@pytest.mark.usefixtures("searchable")
def test_search_prints_the_apis_answer_as_json(tenant: Namespace, api: Api):
    printed = json.loads(run("search", "lights", "--namespace", "tenant", "--json", "-k", "1"))
    answer = api.query("lights", k=1).body
    assert printed.keys() == answer.keys()
    assert [r["chunk_id"] for r in printed["results"]] == [r["chunk_id"] for r in answer["results"]]
    assert len(printed["results"]) == 1
    with pytest.raises(CommandError, match="query"):
        run("search", " ", "--namespace", "tenant")
