"""Starts the web server and the workers, restarts them when they end, and stops them all."""

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
SETTLED_SECONDS = 10  # a program that has once run this long is always restarted
MAX_FAILED_STARTS = 3
MAX_PAUSE = 30
RESET_SECONDS = 60  # an exit after this long does not count as a failed start
SAME_SIGNAL_SECONDS = 0.5  # a terminal, make and a shell may each pass on the same Ctrl-C
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
class _ProgramState:
    """The state of one supervised program."""

    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0
    due_at: float = 0
    quick_exits: int = 0
    settled: bool = False
    restart_now: bool = False  # killed by restart(): start without a pause, do not count it


def _die_with(parent: int) -> None:
    """Runs in the child, before exec."""
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:  # it died before prctl
        os._exit(1)


def _stat(pid: int) -> list[str]:
    """Fields 3 onwards of /proc/PID/stat; the earlier ones may contain spaces."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def _start_mark(pid: int) -> str:
    """The boot and the tick at which a process started: unique, unlike its process id."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return f"{boot}:{_stat(pid)[19]}"


def _members(group: int) -> list[int]:
    """The running processes of a group, without zombies."""
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


def _wait_until_empty(group: int) -> None:
    """Wait for a group's processes to end, so that its port and files are free."""
    deadline = time.monotonic() + 5
    while _members(group) and time.monotonic() < deadline:
        time.sleep(TICK)


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Check without reaping, so that the process id, which names the group, is not reused."""
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
        self._states = {name: _ProgramState() for name in self.programs}
        self._mutex = threading.Lock()
        self._asked_to_stop, self._asked_at = 0, float("-inf")
        self._stopping = threading.Event()
        self._lock: int | None = None

    def claim(self) -> int | None:
        """Become the only supervisor of this home and kill processes left behind by a dead one.

        Returns None, or the process id of the supervisor that is already running.
        """
        if self._lock is None:
            make_folder(self.folder, mode=0o711)
            lock = open_lock(self.folder / f"{self.name}.lock")
            if not try_lock(lock, fcntl.LOCK_EX):
                other = os.pread(lock, 20, 0).decode()
                os.close(lock)
                return int(other or -1)  # it has not written its id yet
            os.ftruncate(lock, 0)
            os.pwrite(lock, str(os.getpid()).encode(), 0)
            self._lock = lock
            self._kill_leftovers()
        return None

    def _unclaim(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def run(self) -> int:
        """Run until SIGINT or SIGTERM (returns 0) or until a program fails to start (its code)."""
        other = self.claim()
        if other is not None:
            logger.error("Ragsite is already running here (pid %s)", other)
            return 1
        handled = [signal.SIGINT, signal.SIGTERM]
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # nohup
            handled.append(signal.SIGHUP)
        before = {number: signal.signal(number, self._ask_to_stop) for number in handled}
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
        """Kill a program's whole group; the main loop starts it again.

        Not started here: a program dies with the *thread* that started it.
        """
        state = self._states[name]
        with self._mutex:
            state.restart_now, state.due_at = True, 0
            if state.process is not None:
                _kill_group(state.process.pid)

    def started_at(self, name: str) -> float:
        return self._states[name].started_at

    def process_group(self, name: str) -> int:
        """The process group of a program; 0 while it is down."""
        process = self._states[name].process
        return process.pid if process is not None else 0

    def _ask_to_stop(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if now - self._asked_at > SAME_SIGNAL_SECONDS:
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
            for name, state in self._states.items():
                if state.process is not None:
                    if _has_ended(state.process) and (code := self._handle_exit(name)):
                        return code
                elif time.monotonic() >= state.due_at:
                    self._spawn(name)
            time.sleep(TICK)
        return 0

    def _spawn(self, name: str) -> None:
        program, state = self.programs[name], self._states[name]
        mark = {"RAGSITE_SUPERVISED": "1", MARK: str(self.folder / name)}
        state.started_at, state.restart_now = time.monotonic(), False
        state.process = subprocess.Popen(  # noqa: S603
            program.argv,
            env={**os.environ, **program.env, **mark},
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=partial(_die_with, os.getpid()),
        )
        draft = self.folder / f"{name}.pid.new"
        try:
            draft.write_text(f"{state.process.pid} {_start_mark(state.process.pid)}\n")
            draft.replace(self.folder / f"{name}.pid")
        except OSError as error:  # a full disk is no reason to stop everything
            logger.warning("Cannot note the process of %s: %s", name, error)

    def _handle_exit(self, name: str) -> int:
        """Schedule the next start. Returns an exit code to give up with, else 0."""
        state = self._states[name]
        code = self._end(name)
        now = time.monotonic()
        lived = now - state.started_at
        state.settled |= lived >= SETTLED_SECONDS
        if state.restart_now:
            return 0
        state.quick_exits = 1 if lived >= RESET_SECONDS else state.quick_exits + 1
        if not state.settled and state.quick_exits >= MAX_FAILED_STARTS:
            logger.error(
                "%s ended with %s at each of %s starts: see above", name, code, MAX_FAILED_STARTS
            )
            return 128 - code if code < 0 else code or 1
        state.due_at = now + min(2 ** (state.quick_exits - 1), MAX_PAUSE)
        logger.warning("%s ended with %s, starting it again", name, code)
        return 0

    def _end(self, name: str) -> int:
        with self._mutex:
            process, self._states[name].process = self._states[name].process, None
            if process is None:
                return 0
            _kill_group(process.pid)  # before wait(): the process id cannot be reused until then
            code = process.wait()
        (self.folder / f"{name}.pid").unlink(missing_ok=True)
        return code

    def _stop_programs(self) -> None:
        began, requests = time.monotonic(), self._asked_to_stop
        running = {
            name: state.process for name, state in self._states.items() if state.process is not None
        }
        for process in running.values():
            os.kill(process.pid, signal.SIGTERM)  # send_signal() would reap it, see _has_ended
        while self._asked_to_stop == requests and any(
            not _has_ended(process) and time.monotonic() < began + self.programs[name].stop_seconds
            for name, process in running.items()
        ):
            time.sleep(TICK)
        for name in running:
            self._end(name)

    def _kill_leftovers(self) -> None:
        """Kill processes that a killed supervisor left behind, but never a reused process id."""
        for file in self.folder.glob("*.pid"):
            with suppress(ValueError):
                group, start_mark = file.read_text().split()
                if self._is_leftover(int(group), start_mark, file.stem):
                    logger.warning("Killing what is left of an earlier %s", file.stem)
                    _kill_group(int(group))
                    _wait_until_empty(int(group))
                file.unlink(missing_ok=True)

    def _is_leftover(self, leader: int, start_mark: str, name: str) -> bool:
        try:
            return _start_mark(leader) == start_mark
        except OSError:  # the leader is gone, but its children may be there
            mark = f"{MARK}={self.folder / name}".encode()
            return any(mark in _environment(pid) for pid in _members(leader))
