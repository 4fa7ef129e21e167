"""Runs the web server and the workers: starts them, starts them again, leaves none behind."""

import ctypes
import fcntl
import logging
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import FrameType

from ragsite.platform.private_files import make_folder
from ragsite.postgres.embedded import open_lock, try_lock

logger = logging.getLogger(__name__)

TICK = 0.1
SETTLED_SECONDS = 10  # a program that has lived so long once is worth restarting for ever
FIRST_TRIES = 3
MAX_PAUSE = 30
FORGIVEN_SECONDS = 60
SAME_WISH_SECONDS = 0.5  # a terminal, make and a shell may all pass on one Ctrl-C
MARK = "RAGSITE_PROGRAM"
PR_SET_PDEATHSIG = 1

_libc = ctypes.CDLL(None)


@dataclass(frozen=True)
class Program:
    name: str
    argv: list[str]
    env: dict[str, str] = field(default_factory=dict)  # on top of our own
    stop_seconds: float = 10


@dataclass
class _Life:
    """What the supervisor knows of one program."""

    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0
    due_at: float = 0
    short_lives: int = 0
    settled: bool = False
    at_once: bool = False  # killed by restart(): no pause, no reproach


def _die_with(parent: int) -> None:
    """Runs in the child, before exec."""
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:  # it died before we asked
        os._exit(1)


def _stat(pid: int) -> list[str]:
    """Fields 3 and on of /proc/PID/stat; those before may contain blanks."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def _birth(pid: int) -> str:
    """Never the same twice, unlike the process id: the boot, and the tick within it."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return f"{boot}:{_stat(pid)[19]}"


def _members(group: int) -> list[int]:
    """Who lives in the group; a corpse that nobody reaps does not count."""
    members = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            state, _, its_group, *_ = _stat(int(folder.name))
            if int(its_group) == group and state != "Z":
                members.append(int(folder.name))
    return members


def _environment(pid: int) -> list[bytes]:
    with suppress(OSError):
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    return []


def _kill_group(group: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def _wait_for_the_end_of(group: int) -> None:
    """Its port and its files are free only then."""
    deadline = time.monotonic() + 5
    while _members(group) and time.monotonic() < deadline:
        time.sleep(TICK)


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Without reaping it, so that its number, which names the group, cannot be used anew."""
    how = os.WEXITED | os.WNOHANG | os.WNOWAIT
    return os.waitid(os.P_PID, process.pid, how) is not None


class Supervisor:
    def __init__(
        self,
        programs: Sequence[Program],
        *,
        home: Path,
        name: str = "supervisor",
        every: Sequence[tuple[float, Callable[[], None]]] = (),
    ) -> None:
        self.programs = {program.name: program for program in programs}
        self.every = every
        self.name = name  # one supervisor of a name per home
        self.folder = home / "run"
        self._lives = {name: _Life() for name in self.programs}
        self._mutex = threading.Lock()
        self._asked_to_stop, self._asked_at = 0, float("-inf")
        self._stopping = threading.Event()
        self._lock: int | None = None

    def claim(self) -> int | None:
        """Be the one supervisor of this home, rid of what one that was killed has left behind;
        otherwise the process id of the other.
        """
        if self._lock is None:
            make_folder(self.folder, mode=0o711)
            lock = open_lock(self.folder / f"{self.name}.lock")
            if not try_lock(lock, fcntl.LOCK_EX):
                other = os.pread(lock, 20, 0).decode()
                os.close(lock)
                return int(other or -1)  # it has not yet written its own
            os.ftruncate(lock, 0)
            os.pwrite(lock, str(os.getpid()).encode(), 0)
            self._lock = lock
            self._sweep()
        return None

    def _unclaim(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def run(self) -> int:
        """Until SIGINT or SIGTERM (0), or until a program cannot be started (its exit code)."""
        other = self.claim()
        if other is not None:
            logger.error("Ragsite is already running here (pid %s)", other)
            return 1
        heeded = [signal.SIGINT, signal.SIGTERM]
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # nohup
            heeded.append(signal.SIGHUP)
        before = {number: signal.signal(number, self._ask_to_stop) for number in heeded}
        chores = [
            threading.Thread(target=self._repeat, args=one, daemon=True) for one in self.every
        ]
        try:
            for chore in chores:
                chore.start()
            return self._watch()
        finally:
            self._stopping.set()
            self._stop_programs()
            for chore in chores:
                chore.join(timeout=2)
            for number, handler in before.items():
                signal.signal(number, handler)
            self._unclaim()

    def restart(self, name: str) -> None:
        """Kill the whole group now. The main loop starts it anew: a program dies with the *thread*
        that started it, so that must be the one that lasts.
        """
        life = self._lives[name]
        with self._mutex:
            life.at_once, life.due_at = True, 0
            if life.process is not None:
                _kill_group(life.process.pid)

    def started_at(self, name: str) -> float:
        return self._lives[name].started_at

    def process_group(self, name: str) -> int:
        """0 while it is down."""
        process = self._lives[name].process
        return process.pid if process is not None else 0

    def _ask_to_stop(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if now - self._asked_at > SAME_WISH_SECONDS:
            self._asked_to_stop += 1
        self._asked_at = now

    def _repeat(self, seconds: float, chore: Callable[[], None]) -> None:
        while not self._stopping.wait(seconds):
            try:
                chore()
            except Exception:
                logger.exception("A chore of the supervisor failed")

    def _watch(self) -> int:
        while not self._asked_to_stop:
            for name, life in self._lives.items():
                if life.process is not None:
                    if _has_ended(life.process) and (code := self._bury(name)):
                        return code
                elif time.monotonic() >= life.due_at:
                    self._spawn(name)
            time.sleep(TICK)
        return 0

    def _spawn(self, name: str) -> None:
        program, life = self.programs[name], self._lives[name]
        mark = {"RAGSITE_SUPERVISED": "1", MARK: str(self.folder / name)}
        life.started_at, life.at_once = time.monotonic(), False
        life.process = subprocess.Popen(  # noqa: S603
            program.argv,
            env={**os.environ, **program.env, **mark},
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=partial(_die_with, os.getpid()),
        )
        draft = self.folder / f"{name}.pid.new"
        try:
            draft.write_text(f"{life.process.pid} {_birth(life.process.pid)}\n")
            draft.replace(self.folder / f"{name}.pid")
        except OSError as error:  # a full disk is no reason to stop everything
            logger.warning("Cannot note the process of %s: %s", name, error)

    def _bury(self, name: str) -> int:
        """Plan the next start; or the exit code with which to give up."""
        life = self._lives[name]
        code = self._end(name)
        now = time.monotonic()
        lived = now - life.started_at
        life.settled |= lived >= SETTLED_SECONDS
        if life.at_once:
            return 0
        life.short_lives = 1 if lived >= FORGIVEN_SECONDS else life.short_lives + 1
        if not life.settled and life.short_lives >= FIRST_TRIES:
            logger.error(
                "%s ended with %s at each of %s starts: see above", name, code, FIRST_TRIES
            )
            return 128 - code if code < 0 else code or 1
        life.due_at = now + min(2 ** (life.short_lives - 1), MAX_PAUSE)
        logger.warning("%s ended with %s, starting it again", name, code)
        return 0

    def _end(self, name: str) -> int:
        with self._mutex:
            process, self._lives[name].process = self._lives[name].process, None
            if process is None:
                return 0
            _kill_group(process.pid)  # before wait(): until then the number is surely its own
            code = process.wait()
        (self.folder / f"{name}.pid").unlink(missing_ok=True)
        return code

    def _stop_programs(self) -> None:
        began, wishes = time.monotonic(), self._asked_to_stop
        living = {n: life.process for n, life in self._lives.items() if life.process is not None}
        for process in living.values():
            os.kill(process.pid, signal.SIGTERM)  # send_signal() would reap it, see _has_ended
        while self._asked_to_stop == wishes and any(
            not _has_ended(process) and time.monotonic() < began + self.programs[name].stop_seconds
            for name, process in living.items()
        ):
            time.sleep(TICK)
        for name in living:
            self._end(name)

    def _sweep(self) -> None:
        """Kill what a predecessor that was killed has left behind; never a number used anew."""
        for file in self.folder.glob("*.pid"):
            with suppress(ValueError):
                group, birth = file.read_text().split()
                if self._is_leftover(int(group), birth, file.stem):
                    logger.warning("Killing what is left of an earlier %s", file.stem)
                    _kill_group(int(group))
                    _wait_for_the_end_of(int(group))
                file.unlink(missing_ok=True)

    def _is_leftover(self, leader: int, birth: str, name: str) -> bool:
        try:
            return _birth(leader) == birth
        except OSError:  # the leader is gone, but it may have children
            mark = f"{MARK}={self.folder / name}".encode()
            return any(mark in _environment(pid) for pid in _members(leader))
