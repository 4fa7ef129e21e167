"""What a reader that was taken over would try. Each act returns the name of the error that stopped
it, or "done". Run in the sandbox by hostile_worker.py, and outside it by test_sandbox.py."""

import ctypes
import errno
import os
import platform
import resource
import signal
import socket
import subprocess
import threading
from collections.abc import Callable

from documents.extractors.confinement import syscalls

libc = ctypes.CDLL(None, use_errno=True)


def attempt(act: str, *arguments: str) -> str:
    try:
        result = ACTS[act](*arguments)
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, str(error))
    except subprocess.SubprocessError as error:
        return type(error).__name__
    return result or "done"


def _raw(name: str, *arguments: int) -> None:
    number = getattr(syscalls.DENIED[name], platform.machine())
    libc.syscall.restype = ctypes.c_long
    if libc.syscall(ctypes.c_long(number), *map(ctypes.c_long, arguments)) < 0:
        raise OSError(ctypes.get_errno(), "refused")


def _open_socket(family: str) -> None:
    socket.socket(getattr(socket, family), socket.SOCK_DGRAM).close()


def _make_socketpair() -> None:
    for end in socket.socketpair():
        end.close()


def _list(path: str) -> None:
    os.listdir(path)


def _limit(pid: str) -> None:
    resource.prlimit(int(pid), resource.RLIMIT_NOFILE, (5, 5))


def _connect(port: str) -> None:
    socket.create_connection(("127.0.0.1", int(port)), timeout=5).close()


def _read(path: str) -> None:
    with open(path, "rb") as file:
        file.read(1)


def _write(path: str) -> None:
    with open(path, "ab") as file:
        file.write(b"mine")


def _write_input() -> None:
    """The file that is being read, opened again by its descriptor, for writing this time."""
    for number in range(3, 64):
        try:
            os.fstat(number)
        except OSError:
            continue
        os.close(os.open(f"/proc/self/fd/{number}", os.O_WRONLY))


def _fork() -> None:
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


def _execute(path: str) -> None:
    os.execv(path, [path])


def _run(path: str) -> None:
    subprocess.run([path], check=True, stdin=subprocess.DEVNULL)


def _trace(pid: str) -> None:
    if libc.ptrace(16, int(pid), 0, 0) < 0:  # PTRACE_ATTACH
        raise OSError(ctypes.get_errno(), "refused")
    libc.ptrace(17, int(pid), 0, 0)


def _read_memory(pid: str) -> None:
    with open(f"/proc/{pid}/maps") as maps:
        start = int(maps.read().split("-")[0], 16)
    buffer = ctypes.create_string_buffer(8)
    local = (ctypes.c_size_t * 2)(ctypes.addressof(buffer), 8)
    remote = (ctypes.c_size_t * 2)(start, 8)
    if libc.process_vm_readv(int(pid), local, 1, remote, 1, 0) < 0:
        raise OSError(ctypes.get_errno(), "refused")


def _thread() -> str:
    seen: list[int] = []
    thread = threading.Thread(target=lambda: seen.append(1))
    thread.start()
    thread.join()
    return "done" if seen else "no thread"


ACTS: dict[str, Callable[..., str | None]] = {
    "socket": _open_socket,
    "socketpair": _make_socketpair,
    "connect": _connect,
    "io_uring": lambda: _raw("io_uring_setup", 1, 0),
    "read": _read,
    "list": _list,
    "write": _write,
    "write_input": _write_input,
    "truncate": lambda path: os.truncate(path, 0),
    "make_folder": os.mkdir,
    "remove": os.unlink,
    "rename": os.rename,
    "link": os.symlink,
    "chmod": lambda path: os.chmod(path, 0o777),
    "chown": lambda path: os.chown(path, 0, 0),
    "touch": os.utime,
    "kill": lambda pid: os.kill(int(pid), signal.SIGTERM),
    "kill_group": lambda: os.killpg(0, 0),
    "kill_by_handle": lambda pid: signal.pidfd_send_signal(os.pidfd_open(int(pid)), 0),
    "kill_itself_softly": lambda: os.kill(os.getpid(), 0),
    "trace": _trace,
    "read_memory": _read_memory,
    "slow_down": lambda pid: os.setpriority(os.PRIO_PROCESS, int(pid), 19),
    "limit": _limit,
    "fork": _fork,
    "execute": _execute,
    "run": _run,
    "leave_group": os.setsid,
    "become_root": lambda: os.setuid(0),
    "new_user_namespace": lambda: _raw("unshare", 0x10000000),
    "mount": lambda: _raw("mount", 0, 0, 0, 0, 0),
    "bpf": lambda: _raw("bpf", 0, 0, 0),
    "keyring": lambda: _raw("keyctl", 0, 0, 0),
    "thread": _thread,
}
