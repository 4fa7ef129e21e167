"""A reader that was taken over gets nowhere: each act tried for real, on this kernel."""

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import pytest
from django.conf import settings as django_settings

from documents.extractors.confinement import landlock, seccomp
from documents.extractors.confinement.users import Identity
from documents.ingestion.extraction import SandboxWorker, SandboxWorkerFailed
from documents.ocr.tesseract import Tesseract

from .scripted_ocr import drawn, saved
from .test_extraction import order, stored

REFUSED = {"EPERM", "EACCES", "ENOSYS", "PermissionError"}
TESSERACT = {
    "BACKEND": "documents.ocr.tesseract.Tesseract",
    "OPTIONS": {},
    "memory_bytes": 2**30,
    "cpu_seconds": 60,
    "wall_seconds": 60,
    "max_pages": 2,
}
is_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
needs_landlock = pytest.mark.skipif(not landlock.version(), reason="the kernel has no Landlock")
needs_seccomp = pytest.mark.skipif(not seccomp.is_supported(), reason="no filter for this machine")


def new_worker(mode: str) -> SandboxWorker:
    return SandboxWorker(
        memory_bytes=512 * 2**20,
        output_bytes=10 * 2**20,
        cpu_seconds=20,
        wall_seconds=120,
        module="tests.documents.hostile_worker",
        sandbox={"mode": mode},
    )


@pytest.fixture(scope="module")
def worker() -> Iterator[SandboxWorker]:
    worker = new_worker("auto")
    yield worker
    worker.close()


@pytest.fixture(scope="module")
def open_worker() -> Iterator[SandboxWorker]:
    worker = new_worker("off")
    yield worker
    worker.close()


def outcome(worker: SandboxWorker, *act: str) -> str:
    return order(worker, " ".join(("attempt", *act))).text


@pytest.fixture
def victim(tmp_path: Path) -> Iterator[Path]:
    """A file of the service's, that anybody may read and change."""
    path = tmp_path / "victim"
    path.write_text("precious")
    path.chmod(0o666)
    tmp_path.chmod(0o777)
    yield path
    assert path.read_text() == "precious"


@pytest.fixture
def port() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield str(server.getsockname()[1])


# -- the network ---------------------------------------------------------------------------


@needs_seccomp
@pytest.mark.parametrize("family", ["AF_INET", "AF_INET6", "AF_UNIX", "AF_NETLINK", "AF_PACKET"])
def test_no_socket_can_be_opened(worker: SandboxWorker, family: str):
    assert outcome(worker, "socket", family) in REFUSED


@needs_seccomp
def test_no_connection_can_be_made(worker: SandboxWorker, open_worker: SandboxWorker, port: str):
    assert outcome(open_worker, "connect", port) == "done"
    assert outcome(worker, "connect", port) in REFUSED
    assert outcome(worker, "socketpair") in REFUSED
    assert outcome(worker, "io_uring") == "EPERM"


@is_root
def test_the_worker_has_a_network_of_its_own_with_nobody_in_it(worker: SandboxWorker):
    order(worker, "answer")
    assert worker._process is not None
    if not worker.protection["network_namespace"]:
        pytest.skip("not allowed to make one here")
    ours, theirs = (os.readlink(f"/proc/{pid}/ns/net") for pid in ("self", worker._process.pid))
    assert ours != theirs
    interfaces = Path(f"/proc/{worker._process.pid}/net/dev").read_text()
    assert re.findall(r"^ *(\w+):", interfaces, re.MULTILINE) in (["lo"], [])


# -- files ---------------------------------------------------------------------------------


@needs_landlock
@pytest.mark.parametrize(
    "path",
    [
        "{home}/secret_key",
        "{base}/ragsite/settings/__init__.py",
        "{base}/manage.py",
        "/etc/passwd",
        "/etc/shadow",
        "/proc/self/environ",
        "/proc/{worker}/environ",
        "{victim}",
    ],
)
def test_nothing_of_the_service_or_the_system_can_be_read(
    worker: SandboxWorker, open_worker: SandboxWorker, path: str, victim: Path
):
    path = path.format(
        home=django_settings.HOME,
        base=django_settings.BASE_DIR,
        worker=os.getpid(),
        victim=victim,
    )
    assert outcome(worker, "read", path) == "EACCES"
    if os.access(path, os.R_OK):
        assert outcome(open_worker, "read", path) == "done"


@needs_landlock
def test_folders_cannot_be_listed(worker: SandboxWorker):
    for path in (django_settings.HOME, django_settings.BASE_DIR, "/", "/tmp", "/proc", "/home"):
        assert outcome(worker, "list", str(path)) == "EACCES"


@needs_landlock
@pytest.mark.parametrize(
    "act",
    [
        ("write", "{victim}"),
        ("write", "{victim}.new"),
        ("write", "/tmp/ragsite-sandbox-test"),
        ("truncate", "{victim}"),
        ("make_folder", "{victim}.folder"),
        ("remove", "{victim}"),
        ("rename", "{victim}", "{victim}.gone"),
        ("link", "{victim}", "{victim}.link"),
        ("chmod", "{victim}"),
        ("chown", "{victim}"),
        ("touch", "{victim}"),
    ],
)
def test_nothing_can_be_written_or_made(worker: SandboxWorker, act: tuple[str, ...], victim: Path):
    before = victim.stat()
    assert outcome(worker, *(part.format(victim=victim) for part in act)) in REFUSED
    assert victim.stat() == before
    assert os.listdir(victim.parent) == ["victim"]


@pytest.mark.parametrize("act", ["write", "chmod", "touch"])
def test_without_it_a_reader_could_write(open_worker: SandboxWorker, act: str, tmp_path: Path):
    (tmp_path / "file").touch()
    assert outcome(open_worker, act, str(tmp_path / "file")) == "done"


@needs_landlock
def test_the_file_being_read_cannot_be_opened_for_writing(worker: SandboxWorker, tmp_path: Path):
    original = tmp_path / "original"
    original.write_text("attempt write_input")
    with original.open("rb") as file:
        read = worker.extract(file, media_type="application/x-obedient", name="x")
    assert read.text == "EACCES"


# -- other processes -----------------------------------------------------------------------


@needs_seccomp
@pytest.mark.parametrize(
    "act", ["kill", "kill_by_handle", "trace", "read_memory", "slow_down", "limit"]
)
def test_neither_the_sandbox_worker_nor_its_parent_can_be_touched(worker: SandboxWorker, act: str):
    parent = order(worker, "identity").metadata["parent"]
    assert worker._process is not None
    assert parent == worker._process.pid
    for pid in (parent, os.getpid()):
        assert outcome(worker, act, str(pid)) in REFUSED
    assert worker._process.poll() is None


@needs_seccomp
@pytest.mark.parametrize(
    "act",
    [
        ("kill_group",),
        ("fork",),
        ("execute", "/bin/true"),
        ("run", "/bin/true"),
        ("leave_group",),
        ("become_root",),
        ("new_user_namespace",),
        ("mount",),
        ("bpf",),
        ("keyring",),
    ],
)
def test_what_no_reader_needs_is_refused(worker: SandboxWorker, act: tuple[str, ...]):
    assert outcome(worker, *act) in REFUSED


def test_without_the_sandbox_a_reader_could_run_programs(open_worker: SandboxWorker):
    assert outcome(open_worker, "run", "/bin/true") == "done"


def test_what_readers_need_is_allowed(worker: SandboxWorker):
    assert outcome(worker, "thread") == "done"
    assert outcome(worker, "kill_itself_softly") == "done"
    assert outcome(worker, "write", os.devnull) == "done"
    assert outcome(worker, "read", "/dev/urandom") == "done"


def test_no_rights_are_left_and_none_can_be_gained(worker: SandboxWorker):
    found = order(worker, "identity").metadata
    assert found["no_new_privileges"] == 1
    if os.geteuid() == 0:
        assert found["capabilities"] == 0


# -- another user --------------------------------------------------------------------------

AS_ANOTHER_USER = """
import json, sys, tempfile, django
django.setup()
from documents.ingestion.extraction import SandboxWorker
from tests.documents.test_extraction import order
from tests.documents.test_sandbox import new_worker, outcome
worker = new_worker("auto")
found = order(worker, "identity").metadata
found["protection"] = worker.protection
found["reads"] = outcome(worker, "read", sys.argv[1])
found["kills"] = outcome(worker, "kill", str(found["parent"]))
print(json.dumps(found))
worker.close()
"""


def in_readable_world(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """With the interpreter and the code where anybody may read them, in a mount namespace that ends
    with the process: root's own home, where they often are, is closed to others."""
    needed = {Path(sys.base_prefix), Path(sys.prefix).resolve(), Path(django_settings.BASE_DIR)}
    closed = {
        Path("/", *path.parts[1:2])
        for path in needed
        if not os.stat("/" + path.parts[1]).st_mode & 1
    }
    script = ["set -e", "stash=$(mktemp -d)", 'mount -t tmpfs tmpfs "$stash"']
    hidden = [path for path in needed if Path("/", path.parts[1]) in closed]
    for number, path in enumerate(hidden):
        script.append(f'mkdir "$stash/{number}"; mount --bind "{path}" "$stash/{number}"')
    script += [f'mount -t tmpfs -o mode=755 tmpfs "{path}"' for path in closed]
    for number, path in enumerate(hidden):
        script.append(f'mkdir -p "{path}"; mount --bind "$stash/{number}" "{path}"')
    script.append('exec "$0" "$@"')
    return subprocess.run(
        ["unshare", "-m", "sh", "-c", "; ".join(script), sys.executable, "-c", code, *arguments],
        cwd=django_settings.BASE_DIR,
        capture_output=True,
        text=True,
        check=False,
    )


@is_root
def test_files_are_read_as_nobody_where_nobody_can_read_the_code(tmp_path: Path):
    import json

    secret = tmp_path / "secret"
    secret.write_text("x")
    secret.chmod(0o600)
    done = in_readable_world(AS_ANOTHER_USER, str(secret))
    if "unshare" in done.stderr or "mount:" in done.stderr:
        pytest.skip(f"no mount namespace here: {done.stderr}")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    nobody = Identity.find("nobody")
    assert found["protection"]["user"] == "nobody"
    assert found["users"] == [nobody.uid] * 3 + [nobody.gid] * 3
    assert found["groups"] == []
    assert found["capabilities"] == 0
    assert found["reads"] == "EACCES"
    assert found["kills"] in REFUSED


@is_root
def test_rights_are_given_up_for_good(tmp_path: Path):
    """The identity alone, without the other layers."""
    secret = tmp_path / "secret"
    secret.write_text("x")
    secret.chmod(0o600)

    def attempt() -> None:
        Identity.find("nobody").assume()
        for act in (
            lambda: os.setuid(0),
            lambda: os.setgroups([0]),
            lambda: secret.read_text(),
            lambda: os.kill(os.getppid(), 0),
        ):
            with pytest.raises(PermissionError):
                act()

    assert exit_code_of(attempt) == 0


def exit_code_of(act: Any) -> int:
    child = os.fork()
    if child == 0:
        try:
            act()
            os._exit(0)
        except BaseException as error:
            os.write(2, repr(error).encode())
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


# -- programs ------------------------------------------------------------------------------


@pytest.fixture
def program(tmp_path: Path) -> str:
    """A Tesseract that tells what it can reach."""
    path = tmp_path / "bin" / "tesseract"
    path.parent.mkdir()
    path.write_text(
        "#!/bin/sh\ncat > /dev/null\n"
        f"cat {django_settings.HOME}/secret_key > /dev/null 2>&1 && word=leak || word=safe\n"
        f"(echo x > {tmp_path}/written) 2> /dev/null && word=written\n"
        'printf "level\\tpage_num\\tblock_num\\tpar_num\\tline_num\\tword_num\\tleft\\ttop\\twidth'
        '\\theight\\tconf\\ttext\\n5\\t1\\t1\\t1\\t1\\t1\\t9\\t9\\t9\\t9\\t90\\tlamp-%s\\n" $word\n'
    )
    path.chmod(0o755)
    return str(path)


@needs_landlock
def test_an_engine_that_is_a_program_runs_and_is_confined_too(program: str, tmp_path: Path):
    assert Tesseract.runs_programs
    worker = new_worker("required")
    try:
        ocr = {**TESSERACT, "OPTIONS": {"command": program}}
        with stored(saved(drawn("Words"), "PNG")) as file:
            read = worker.extract(file, media_type="image/png", name="a.png", ocr=ocr)
    finally:
        worker.close()
    assert "lamp-safe" in read.text
    assert not (tmp_path / "written").exists()


def test_what_a_reader_started_ends_with_it(worker: SandboxWorker):
    with stored(b"spawn") as file:
        kind = "application/x-obedient"
        read = worker.extract(file, media_type=kind, name="x", ocr=TESSERACT)
    deadline = time.monotonic() + 30
    while psutil.pid_exists(read.metadata["pid"]) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not psutil.pid_exists(read.metadata["pid"])


def test_a_reader_ends_with_its_worker():
    worker = new_worker("auto")
    order(worker, "answer")
    assert worker._process is not None
    server = psutil.Process(worker._process.pid)
    with ThreadPoolExecutor(1) as pool:
        hanging = pool.submit(order, worker, "hang")
        deadline = time.monotonic() + 60
        while not server.children() and time.monotonic() < deadline:
            time.sleep(0.05)
        (reader,) = server.children()
        time.sleep(0.5)  # until it is confined; sooner, it would find its parent gone
        server.kill()
        assert isinstance(hanging.exception(60), SandboxWorkerFailed)
    reader.wait(60)
