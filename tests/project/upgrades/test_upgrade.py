"""What an earlier release left is all there under this one, and is found as before."""

import gzip
import json
import subprocess
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ragsite.postgres import cluster
from ragsite.postgres.embedded import MAJOR, EmbeddedServer

from ..service import Service
from .making import HARBOUR, QUESTIONS, seen

HERE = Path(__file__).parent
ROLES = "CREATE ROLE ragsite_app; CREATE ROLE ragsite_operator; CREATE ROLE ragsite_definer;"


def put_back(left: Path, home: Path) -> None:
    """Make a home as that release left it: a database with its roles and rows, and the originals.
    A dump says nothing about roles, because they belong to the server."""
    server = EmbeddedServer(home, fsync=False)
    server.ensure_running()
    try:
        psql = [cluster.binaries(MAJOR) / "psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d"]
        address = f"host={server.socket_dir()} user=postgres dbname=ragsite"
        script = ROLES.encode() + gzip.decompress((left / "database.sql.gz").read_bytes())
        done = subprocess.run([*psql, address], input=script, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr[-2000:]
    finally:
        server.release()
    with zipfile.ZipFile(left / "originals.zip") as archive:
        archive.extractall(home / "storage")


@pytest.fixture(scope="module")
def upgraded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    home = tmp_path_factory.mktemp("upgraded") / "home"
    home.mkdir()
    put_back(HERE / "release_0_2_0", home)
    service = Service(home)
    try:
        service.start("--no-samples")
        yield service
    finally:
        service.kill_everything()


@pytest.fixture(scope="module")
def before() -> dict[str, Any]:
    shown: dict[str, Any] = json.loads((HERE / "release_0_2_0" / "seen.json").read_text())
    return shown


def test_documents_facts_judgements_and_keys_of_0_2_0_survive(
    upgraded: Service, before: dict[str, Any]
):
    for was in before.values():
        with upgraded.client(was["key"]) as client:
            now = json.loads(json.dumps(seen(client)))
        for kind in ("documents", "facts", "golden", "feedback"):
            assert now[kind] == was[kind], kind


def test_questions_find_what_they_found_under_0_2_0(upgraded: Service, before: dict[str, Any]):
    for was in before.values():
        with upgraded.client(was["key"]) as client:
            found = seen(client)["found"]
        for question in QUESTIONS:
            assert found[question] == was["found"][question], question


def test_the_auditor_finds_nothing_after_the_upgrade(upgraded: Service):
    audited = upgraded.command("verify", "--json")
    assert json.loads(audited.stdout)["findings"] == []
    assert audited.returncode == 0


def test_work_goes_on_after_the_upgrade(upgraded: Service, before: dict[str, Any]):
    """A new version of an old document, and a reindex taken back that was switched before."""
    with upgraded.client(before["default"]["key"]) as client:
        files = {"file": ("harbour.md", HARBOUR.format("chalk").encode())}
        sent = client.post("ingest", files=files, data={"wait": "60"}).json()["results"][0]
        old = before["default"]["documents"]["upload:harbour.md"]
        assert (sent["document_id"], sent["status"], sent["version"]) == (old["id"], "ready", 3)
        hit = client.post("query", json={"query": "Who keeps the log?"}).json()["results"][0]
        assert "chalk" in hit["content"]
    done = upgraded.command("reindex", "--namespace", "second", "--rollback")
    assert done.returncode == 0, done.stderr
    with upgraded.client(before["second"]["key"]) as client:
        (hit,) = client.post("query", json={"query": "Where is the treasure?"}).json()["results"]
    assert "third oak" in hit["content"]
