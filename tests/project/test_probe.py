"""A container's health check: by the web server's own answer, by the workers' last report."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from ragsite.service import probe
from ragsite.settings import BASE_DIR

from .service import free_port


class Answers(BaseHTTPRequestHandler):
    status = 200
    asked: tuple[str, str] = ("", "")

    def do_GET(self) -> None:
        type(self).asked = (self.path, self.headers["Host"])
        self.send_response(self.status)
        self.end_headers()
        self.wfile.write(b'{"status": "not ready"}')

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def port() -> Iterator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port
    server.shutdown()
    server.server_close()
    Answers.status = 200


def run(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ragsite.service.probe", *arguments],
        cwd=BASE_DIR,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_web_server_is_asked_under_a_name_it_answers_to(port: int):
    done = run("web", HOST="0.0.0.0", PORT=str(port), ALLOWED_HOSTS=".example.com,other")
    assert (done.returncode, done.stderr) == (0, "")
    assert Answers.asked == ("/readyz", "example.com")


def test_a_web_server_that_is_not_ready_is_unhealthy_and_says_why(port: int):
    Answers.status = 503
    done = run("web", HOST="127.0.0.1", PORT=str(port))
    assert done.returncode == 1
    assert "not ready" in done.stderr
    assert run("web", HOST="127.0.0.1", PORT=str(free_port())).returncode == 1


def test_workers_are_healthy_while_they_report(tmp_path: Path):
    assert "no worker has reported" in run("worker", RAGSITE_HOME=str(tmp_path)).stderr
    (tmp_path / "run").mkdir()
    probe.note_worker(tmp_path)
    assert run("worker", RAGSITE_HOME=str(tmp_path)).returncode == 0
    os.utime(tmp_path / "run" / "worker.alive", (0, 0))
    silent = run("worker", RAGSITE_HOME=str(tmp_path))
    assert silent.returncode == 1
    assert "silent" in silent.stderr


def test_other_arguments_are_refused():
    assert run().returncode == 1
    assert "usage" in run("both").stderr


def test_a_probe_needs_no_django():
    code = "import sys, ragsite.service.probe; sys.exit('django' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=BASE_DIR, check=False).returncode == 0
