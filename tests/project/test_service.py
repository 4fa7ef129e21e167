"""A newcomer's afternoon with the real thing: start it, use it, stop it, start it again."""

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest

from .service import ROOT, Service, until

MANUAL = """# Manual

Read this first.

## Cleaning

Wipe the lens with a dry cloth every week.

## Storage

Keep the lamp away from frost in winter.
"""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    service = Service(tmp_path_factory.mktemp("service"))
    try:
        service.start()
        yield service
    finally:
        service.kill_everything()


def upload(client: httpx2.Client, text: str, name: str = "manual.md") -> dict:
    answer = client.post("ingest", files={"file": (name, text)}, data={"wait": "60"})
    assert answer.status_code == 200, answer.text
    return answer.json()["results"][0]


def stored_files(service: Service) -> set[Path]:
    return {path for path in (service.home / "storage").rglob("*") if path.is_file()}


def test_it_prints_what_a_newcomer_needs_and_the_printed_line_works(service: Service):
    until(lambda: "Try it:" in service.log, seconds=120)
    banner = service.log[service.log.index("Ragsite is running") :]
    assert service.url in banner
    assert "login: operator / see" in banner
    credentials = json.loads((service.home / "credentials.json").read_text())
    assert str(service.home / "credentials.json") in banner
    for name in ("password", "api_key"):  # this is no terminal, and logs are read by many
        assert credentials[name] not in service.log
    curl = banner[banner.index("curl") :].split("\n\n")[0]
    answer = json.loads(subprocess.run(curl, shell=True, capture_output=True, check=True).stdout)
    assert answer["results"][0]["source_uri"] == "sample:warranty-and-returns.md"
    assert len(answer["citations"]) == len(answer["results"]) > 0
    assert answer["diagnostics"]["fallbacks"] == []


def test_others_can_read_nothing_that_it_writes(service: Service):
    with service.client() as client:
        upload(client, "# Private\n\nFor our eyes only.", name="private.md")
    assert stored_files(service)
    places = [service.home / name for name in ("storage", "tmp", "run", "postgres")]
    for path in (*places, service.home / "credentials.json", service.home / "secret_key"):
        mode = path.stat().st_mode & 0o777
        passed_through = path.name in ("run", "postgres")  # by the database server's own user
        assert mode & (0o066 if passed_through else 0o077) == 0, (path, oct(mode))
    for path in (service.home / "storage").rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path
    for process in service.processes():
        if process.exe().startswith(sys.prefix) or "python" in process.name():
            status = Path(f"/proc/{process.pid}/status").read_text()
            assert "Umask:\t0077" in status, process.cmdline()


def test_a_document_lives_from_upload_to_deletion(service: Service):
    with service.client() as client:
        first = upload(client, MANUAL)
        assert (first["status"], first["version"], first["duplicate"]) == ("ready", 1, False)
        assert first["chunks_count"] == 1  # sections as small as these share one

        def best(question: str) -> dict:
            filters = {"document_ids": [first["document_id"]]}
            return client.post("query", json={"query": question, "filters": filters}).json()

        hit = best("how do I clean the glass?")["results"][0]
        assert hit["section"] == "Manual"
        assert "Manual > Cleaning" in hit["chunk_metadata"]["sections"]
        assert MANUAL[hit["span"]["start"] : hit["span"]["end"]] == hit["content"]

        again = upload(client, MANUAL)
        assert (again["duplicate"], again["document_id"]) == (True, first["document_id"])

        second = upload(client, MANUAL.replace("a dry cloth", "warm soapy water"))
        assert (second["version"], second["document_id"]) == (2, first["document_id"])
        contents = " ".join(h["content"] for h in best("wipe the lens")["results"])
        assert "soapy" in contents
        assert "dry cloth" not in contents

        stored = stored_files(service)
        receipt = client.delete(f"documents/{first['document_id']}").json()
        assert (receipt["versions"], receipt["files"], receipt["files_left"]) == (2, 2, [])
        assert len(stored - stored_files(service)) == 2
        assert best("wipe the lens")["results"] == []
        assert client.get(f"documents/{first['document_id']}").status_code == 404


def test_progress_streams_until_the_end(service: Service):
    with service.client() as client:
        queued = client.post("ingest", files={"file": ("stream.md", "# Stream\n\nWater flows.")})
        job = queued.json()["results"][0]["job_id"]
        with client.stream("GET", f"jobs/{job}/events") as stream:
            assert stream.headers["content-type"].startswith("text/event-stream")
            lines = [line for line in stream.iter_lines() if line.startswith(("event", "data"))]
    assert lines[-2] == "event: end"
    assert json.loads(lines[-1].removeprefix("data: "))["state"] == "succeeded"


def test_pages_come_with_everything_they_show_and_nothing_from_elsewhere(service: Service):
    for path in ("/", "/api/docs", "/api/schema", "/admin/login/", "/livez", "/readyz"):
        assert httpx2.get(service.url + path).status_code == 200, path
    docs = httpx2.get(f"{service.url}/api/docs").text
    assert "/static/drf_spectacular_sidecar/" in docs
    assert "https://cdn" not in docs
    for asset in ("admin/css/base.css", "drf_spectacular_sidecar/swagger-ui-dist/swagger-ui.css"):
        assert httpx2.get(f"{service.url}/static/{asset}").status_code == 200


def test_many_questions_at_once_are_all_answered(service: Service):
    def ask(n: int) -> int:
        with service.client() as client:
            return client.post("query", json={"query": f"who is on call at {n}?"}).status_code

    with ThreadPoolExecutor(16) as pool:
        assert set(pool.map(ask, range(64))) == {200}


def test_a_body_beyond_the_limit_is_refused_before_it_is_stored(service: Service):
    def endless() -> Iterator[bytes]:
        for _ in range(300):
            yield b"x" * 1024 * 1024

    with socket.create_connection(("127.0.0.1", service.port)) as raw:
        raw.sendall(
            b"POST /api/v1/ingest HTTP/1.1\r\nHost: localhost\r\nContent-Length: 999999999\r\n\r\n"
        )
        assert raw.recv(100).startswith(b"HTTP/1.1 413")
    with service.client() as client:
        try:
            streamed = client.post(
                "ingest", headers={"Content-Type": "application/json"}, content=endless()
            )
            assert streamed.status_code == 413
            assert streamed.json()["error"]["code"] == "too_large"
        except httpx2.WriteError:
            pass  # it hung up on us, as it may
        assert client.get("documents").status_code == 200


def test_commands_find_the_running_service(service: Service, tmp_path: Path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "fog.md").write_text("# Fog\n\nSound the horn twice a minute.")
    done = service.command("ingest", str(tmp_path), "--tags", "weather", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["status"] == "ready"
    found = service.command("search", "what to do in fog", "--tags", "weather", "--json")
    assert json.loads(found.stdout)["results"][0]["title"] == "Fog"
    created = service.command("namespace", "create", "second")
    assert created.returncode == 0, created.stderr
    key = service.command("api_key", "create", "--namespace", "second").stdout.strip()
    with service.client(key) as client:
        assert client.get("documents").json()["results"] == []


def test_a_second_start_and_a_taken_port_are_explained(service: Service, tmp_path: Path):
    again = Service(service.home).command("up")
    assert again.returncode == 1
    assert f"Ragsite already runs in {service.home}" in again.stderr
    neighbour = Service(tmp_path, port=service.port).command("up")
    assert neighbour.returncode == 1
    assert f"Cannot listen on 127.0.0.1:{service.port}" in neighbour.stderr
    assert f"PORT={service.port + 1} make run" in neighbour.stderr


def test_sigterm_stops_every_process_and_a_second_start_finds_its_data(service: Service):
    with service.client() as client:
        before = upload(client, "# Kept\n\nThis stays over night.", "kept.md")
    key = service.key
    assert service.stop(signal.SIGTERM) == 0
    assert service.processes() == []
    service.start()
    assert service.key == key
    with service.client() as client:
        kept = client.get(f"documents/{before['document_id']}")
        assert kept.json()["status"] == "ready"
        hits = client.post("query", json={"query": "what stays over night?"}).json()["results"]
    assert hits[0]["title"] == "kept.md" or hits[0]["source_uri"] == "upload:kept.md"
    assert service.stop(signal.SIGINT) == 0
    assert service.processes() == []


def test_python_that_is_too_old_is_named(tmp_path: Path):
    old = tmp_path / "python3"
    old.write_text('#!/bin/sh\n[ "$1" = --version ] && echo "Python 3.9.2" && exit 0\nexit 1\n')
    old.chmod(0o755)
    done = subprocess.run(
        ["make", "--no-print-directory", "python-ok", f"PYTHON={old}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "needs Python 3.11 or newer" in done.stdout
    assert "Python 3.9.2" in done.stdout
    assert sys.version_info >= (3, 11)
