"""The embedded PostgreSQL server: found in a wheel, started on demand, stopped by the last out."""

import atexit
import fcntl
import hashlib
import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from ragsite.platform.private_files import make_folder
from ragsite.postgres import cluster
from ragsite.postgres.account import Account

MAJOR = "18"
SOCKET_NAME = ".s.PGSQL.5432"
MAX_SOCKET_PATH = 107  # bytes in sockaddr_un, less its closing zero
SUPERVISED_SECONDS = 10  # a supervised process answers "database away" rather than hang

_held: dict[Path, int] = {}
_mutex = threading.Lock()
_ending = threading.Event()


class EmbeddedServerError(RuntimeError):
    """The database cannot be had; the message says what to do."""


def open_lock(path: Path) -> int:
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    if os.geteuid() == 0:  # one `sudo` must not lock the ordinary user out for good
        owner = path.parent.stat()
        os.fchown(lock, owner.st_uid, owner.st_gid)
    return lock


def try_lock(lock: int, how: int) -> bool:
    try:
        fcntl.flock(lock, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def _exclusive(path: Path) -> Iterator[None]:
    lock = open_lock(path)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _wait(seconds: float, *, until: Callable[[], bool]) -> None:
    deadline = time.monotonic() + seconds
    while not until() and time.monotonic() < deadline:
        time.sleep(0.02)


def _forget_in_child() -> None:
    """A forked child holds nothing, and stops nothing, until it asks for the server itself."""
    global _mutex
    _mutex = threading.Lock()
    while _held:
        os.close(_held.popitem()[1])


os.register_at_fork(after_in_child=_forget_in_child)


@dataclass(frozen=True)
class EmbeddedServer:
    """One server per home. Processes that use it hold run/server.lock, shared; the last one out
    stops it. Starting and stopping happen under run/start.lock. Every process of the server
    inherits postgres/alive.lock: while that is taken, something of it still runs.
    """

    home: Path
    database: str = "ragsite"
    binaries: Path | None = None
    patience: float = 300  # seconds for a start, which may have to recover from a crash
    fsync: bool = field(default_factory=lambda: os.environ.get("RAGSITE_PG_FSYNC") != "off")

    def __post_init__(self) -> None:
        object.__setattr__(self, "home", Path(self.home).resolve())

    def socket_dir(self) -> Path:
        name = f"ragsite-{self._mark}"
        private = self.home / "run" / "pg"
        places = [private, Path(tempfile.gettempdir(), name), Path("/tmp", name)]  # noqa: S108
        runtime = os.environ.get("XDG_RUNTIME_DIR", "")
        if os.geteuid() and os.access(runtime, os.W_OK):
            places.insert(1, Path(runtime, name))
        short = [p for p in places if len(os.fsencode(p / SOCKET_NAME)) <= MAX_SOCKET_PATH]
        if short[0] != private:
            for line in self._postmaster()[4:5]:
                if Path(line).name == name:  # of a process with another TMPDIR than ours
                    return Path(line)
        return short[0]

    def is_running(self) -> bool:
        return bool(self._postmaster())

    def ensure_running(self) -> None:
        """Cheap while we hold a server that is well: this is called for every new connection."""
        supervised = os.environ.get("RAGSITE_SUPERVISED") == "1"
        if (supervised or self.home in _held) and self._is_ready():
            return
        if supervised:
            self._wait_until_ready(SUPERVISED_SECONDS, hopeless=lambda: False)
            return
        try:
            for folder in (self.home / "run", self._folder):
                make_folder(folder, mode=0o711)  # the server's own user has to pass
            with _mutex, _exclusive(self.home / "run" / "start.lock"):
                self._hold()
                if not self._is_ready():
                    self._start()
                self._create_database()
        except (OSError, subprocess.SubprocessError) as error:
            raise EmbeddedServerError(cluster.explain(str(error), self.home)) from error

    def release(self) -> None:
        with _mutex, suppress(FileNotFoundError):  # the whole home may be gone by now
            held = _held.pop(self.home, None)
            if held is None:
                return
            fcntl.flock(held, fcntl.LOCK_UN)  # close() alone would leave it to forked children
            os.close(held)
            with _exclusive(self.home / "run" / "start.lock"):
                last = open_lock(self.home / "run" / "server.lock")
                try:
                    if try_lock(last, fcntl.LOCK_EX):
                        self._shut_down()
                finally:
                    os.close(last)

    def _release_at_exit(self) -> None:
        _ending.set()
        self.release()

    def stop(self) -> None:
        with suppress(FileNotFoundError), _exclusive(self.home / "run" / "start.lock"):
            self._shut_down()

    @property
    def _folder(self) -> Path:
        return self.home / "postgres"

    @property
    def _data(self) -> Path:
        return self._folder / "data"

    @property
    def _mark(self) -> str:
        return hashlib.sha256(os.fsencode(self.home)).hexdigest()[:12]

    def _binary(self, name: str) -> str:
        return str((self.binaries or cluster.binaries(MAJOR)) / name)

    def _postmaster(self) -> list[str]:
        """The lines of postmaster.pid, if that process is alive and is our server."""
        try:
            lines = (self._data / "postmaster.pid").read_text().splitlines()
            argv = Path(f"/proc/{int(lines[0])}/cmdline").read_bytes().split(b"\0")
        except (OSError, ValueError, IndexError):
            return []
        ours = argv[0].endswith(b"postgres") and os.fsencode(self._data) in argv
        return lines if ours else []

    def _is_ready(self) -> bool:
        return [line.strip() for line in self._postmaster()[7:8]] == ["ready"]

    def _is_gone(self) -> bool:
        lock = open_lock(self._folder / "alive.lock")
        try:
            return try_lock(lock, fcntl.LOCK_SH)
        finally:
            os.close(lock)

    def _hold(self) -> None:
        if _ending.is_set():  # a thread that outlives us must not start it again
            raise EmbeddedServerError("This process is about to end.")
        if self.home not in _held:
            atexit.unregister(self._release_at_exit)
            atexit.register(self._release_at_exit)
            _held[self.home] = open_lock(self.home / "run" / "server.lock")
            fcntl.flock(_held[self.home], fcntl.LOCK_SH)

    def _start(self) -> None:
        alive = open_lock(self._folder / "alive.lock")
        try:
            if not self._is_left_alone(alive):
                return
            self._spawn(self._prepare(alive), alive)
        finally:
            os.close(alive)  # the server keeps its own
        self._wait_until_ready(self.patience, hopeless=self._is_gone)

    def _is_left_alone(self, alive: int) -> bool:
        """Wait for the end of an earlier server; False if that turns out to be well."""
        now = orphaned = time.monotonic()
        deadline = now + self.patience
        while self._postmaster() or not try_lock(alive, fcntl.LOCK_EX):
            if self._is_ready():
                return False
            if self._postmaster():  # on its way up or down
                orphaned = now
            elif now > orphaned + 2:  # backends go soon after the postmaster, unless busy
                self._kill_orphans()
            if now > deadline:
                raise EmbeddedServerError(f"A server that does not answer uses {self._data}.")
            time.sleep(0.05)
            now = time.monotonic()
        return True

    def _kill_orphans(self) -> None:
        title = f"postgres: ragsite-{self._mark}:".encode()
        for cmdline in Path("/proc").glob("[0-9]*/cmdline"):
            with suppress(OSError):
                if cmdline.read_bytes().startswith(title):
                    os.kill(int(cmdline.parent.name), signal.SIGKILL)

    def _prepare(self, alive: int) -> Account:
        account = Account.for_data(self._data)
        sockets = self.socket_dir()
        account.own(self._folder / "log")
        account.own(sockets)
        account = account.reaching(self._binary("initdb"), self._folder / "log", sockets)
        if not self._data.exists():
            cluster.make_cluster(self._binary("initdb"), self._data, account, alive, self.fsync)
        made_by = (self._data / "PG_VERSION").read_text().strip()
        if made_by != MAJOR:
            raise EmbeddedServerError(
                f"{self._data} was made by PostgreSQL {made_by}, and this is {MAJOR}. Dump it with"
                f" a server of version {made_by} and load it here, or move it away to begin anew."
            )
        account.own(self._data)
        cluster.configure(self._folder, self.fsync)
        # Nothing runs, so these are stale; their process ids may be somebody else's by now.
        for stale in (self._data / "postmaster.pid", *sockets.glob(f"{SOCKET_NAME}*")):
            stale.unlink(missing_ok=True)
        return account

    def _spawn(self, account: Account, alive: int) -> None:
        quoted = str(self.socket_dir()).replace('"', '""')
        forced = {
            "config_file": str(self._folder / "postgresql.conf"),
            "cluster_name": f"ragsite-{self._mark}",
            "listen_addresses": "",
            "port": "5432",
            "unix_socket_directories": f'"{quoted}"',
            "unix_socket_permissions": "0700",
        }
        argv = [self._binary("postgres"), "-D", str(self._data)]
        argv += [f"--{name}={value}" for name, value in forced.items()]
        started = self._folder / "startup.log"
        started.unlink(missing_ok=True)  # it may be root's, from another day
        with started.open("wb") as log:
            account.start_detached(argv, alive, log)

    def _wait_until_ready(self, seconds: float, *, hopeless: Callable[[], bool]) -> None:
        _wait(seconds, until=lambda: self._is_ready() or hopeless())
        if not self._is_ready():
            late = "" if hopeless() else f"No answer within {seconds:g} seconds.\n"
            words = late + cluster.last_words(self._folder)
            raise EmbeddedServerError(cluster.explain(words, self.home))

    def _create_database(self) -> None:
        import psycopg
        from psycopg import sql
        from psycopg.conninfo import make_conninfo

        where = make_conninfo(host=str(self.socket_dir()), port=5432, user="postgres")
        try:
            with psycopg.connect(where, dbname="postgres", autocommit=True) as connection:
                known = "SELECT 1 FROM pg_database WHERE datname = %s"
                if not connection.execute(known, [self.database]).fetchone():
                    name = sql.Identifier(self.database)
                    connection.execute(sql.SQL("CREATE DATABASE {}").format(name))
        except psycopg.Error as error:
            raise EmbeddedServerError(cluster.explain(str(error), self.home)) from error

    def _shut_down(self) -> None:
        sockets = self.socket_dir()
        for how, seconds in ((signal.SIGINT, 60), (signal.SIGQUIT, 10), (signal.SIGKILL, 10)):
            if not (lines := self._postmaster()):
                break
            with suppress(ProcessLookupError):
                os.kill(int(lines[0]), how)
            _wait(seconds, until=lambda: not self._postmaster())
        _wait(5, until=self._is_gone)
        if sockets.parent != self.home / "run":
            with suppress(OSError):
                sockets.rmdir()
