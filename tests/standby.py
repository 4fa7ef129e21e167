"""A streaming replica of the embedded server on this machine, made with its own programs."""

import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from ragsite.postgres import cluster
from ragsite.postgres.account import CLEAN_ENV, Account
from ragsite.postgres.embedded import MAJOR, EmbeddedServer

SECONDS = 60


@dataclass
class Standby:
    folder: Path
    account: Account
    process: "subprocess.Popen[bytes] | None" = None

    @property
    def sockets(self) -> Path:
        return self.folder / "sockets"

    def sql(self, statement: str) -> object:
        with psycopg.connect(
            host=str(self.sockets), port=5432, user="postgres", dbname="ragsite", autocommit=True
        ) as connection:
            return connection.execute(statement).fetchone()[0]  # type: ignore[index,call-overload]

    def start(self) -> None:
        settings = {
            "listen_addresses": "",
            "unix_socket_directories": str(self.sockets),
            "port": "5432",
            "hot_standby": "on",
            "max_connections": "100",
            "max_worker_processes": "64",
            "fsync": "off",
        }
        argv = [str(cluster.binaries(MAJOR) / "postgres"), "-D", str(self.folder / "data")]
        argv += [f"--{name}={value}" for name, value in settings.items()]
        with (self.folder / "standby.log").open("ab") as log:
            self.process = subprocess.Popen(
                argv, cwd="/", env=CLEAN_ENV, stdout=log, stderr=log, preexec_fn=self.account.become
            )
        self._wait("SELECT 1")

    def stop(self) -> None:
        """At once, as a machine that loses its power."""
        if self.process is not None:
            self.process.terminate()
            self.process.kill()
            self.process.wait()

    def has_caught_up(self, position: str) -> None:
        self._wait(f"SELECT pg_last_wal_replay_lsn() >= '{position}'::pg_lsn")

    def promote(self) -> None:
        self.sql("SELECT pg_promote(true)")

    def _wait(self, condition: str) -> None:
        deadline = time.monotonic() + SECONDS
        while True:
            try:
                if self.sql(condition):
                    return
            except psycopg.OperationalError:
                assert self.process is not None
                assert self.process.poll() is None, self.log
            assert time.monotonic() < deadline, f"{condition}: not within {SECONDS} s. {self.log}"
            time.sleep(0.02)

    @property
    def log(self) -> str:
        return (self.folder / "standby.log").read_text()


@contextmanager
def standby_of(primary: EmbeddedServer) -> Iterator[Standby]:
    """Copy the running server with pg_basebackup and stream what it writes from then on."""
    folder = Path(tempfile.mkdtemp(prefix="rs-standby-"))
    folder.chmod(0o711)
    program = str(cluster.binaries(MAJOR) / "pg_basebackup")
    account = Account.for_data(primary.home / "postgres" / "data")
    standby = Standby(folder, account.with_access_to(program, primary.socket_dir()))
    for each in (standby.sockets, folder / "data"):
        account.own(each)
    try:
        argv = [program, "--pgdata", str(folder / "data"), "--write-recovery-conf", "--no-sync"]
        argv += ["--checkpoint=fast", "-h", str(primary.socket_dir()), "-U", "postgres"]
        done = subprocess.run(
            argv,
            cwd="/",
            env={**CLEAN_ENV, "HOME": str(folder)},
            preexec_fn=standby.account.become,
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr.decode()
        standby.start()
        yield standby
    finally:
        standby.stop()
        shutil.rmtree(folder, ignore_errors=True)
