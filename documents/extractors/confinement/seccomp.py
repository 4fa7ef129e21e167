"""A seccomp filter: system calls that fail from now on, for all code in this process.

Written as BPF, the kernel's filter language, so that no library is needed. It lists what is denied
instead of what is allowed, because the many libraries that read files, and each version of the C
library, use different calls.
"""

import ctypes
import errno
import platform
import struct

from documents.extractors.confinement import kernel, syscalls
from documents.extractors.confinement.syscalls import Numbers

PR_SET_SECCOMP = 22
MODE_FILTER = 2

# Instructions of classic BPF, and offsets in seccomp_data.
LOAD, JUMP_EQUAL, JUMP_AT_LEAST, JUMP_ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
NUMBER, ARCHITECTURE, FIRST, SECOND = 0, 4, 16, 24

KILL_PROCESS, FAIL, ALLOW = 0x80000000, 0x00050000, 0x7FFF0000
X32_CALLS = 0x40000000  # x86-64 has a second numbering for these

AUDIT_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
CLONE_THREAD = 0x00010000
CLONE_NAMESPACES = 0x7E020080  # CLONE_NEW*: mounts, control groups, users, networks and others
TIOCSTI, TIOCLINUX = 0x5412, 0x541C  # types into a terminal, which may be that of the log

Instruction = tuple[int, int, int, int]


def is_supported() -> bool:
    return platform.machine() in AUDIT_ARCHITECTURES


def build(*, own_pid: int, may_run_programs: bool) -> bytes:
    """Return the filter's program for the process with this id."""
    machine = platform.machine()
    program: list[Instruction] = [
        (LOAD, 0, 0, ARCHITECTURE),
        (JUMP_EQUAL, 1, 0, AUDIT_ARCHITECTURES[machine]),
        (RETURN, 0, 0, KILL_PROCESS),
        (LOAD, 0, 0, NUMBER),
    ]
    if machine == "x86_64":
        program += [(JUMP_AT_LEAST, 0, 1, X32_CALLS), (RETURN, 0, 0, KILL_PROCESS)]

    def when(call: Numbers, then: list[Instruction]) -> None:
        number = getattr(call, machine)
        if number is not None:
            program.append((JUMP_EQUAL, 0, len(then), number))
            program.extend(then)

    denied = syscalls.DENIED if may_run_programs else syscalls.DENIED | syscalls.PROGRAMS
    for call in denied.values():
        when(call, [_fail(errno.EPERM)])
    for call in syscalls.OWN_PROCESS_ONLY.values():
        when(call, _allow_only_if_first_is(own_pid))
    when(syscalls.PRLIMIT, _allow_only_if_first_is(0))
    when(syscalls.CLONE, _clone(may_run_programs))
    # A filter cannot see its arguments; if it fails, the C library uses `clone`.
    when(syscalls.CLONE3, [_fail(errno.ENOSYS)])
    when(syscalls.IOCTL, _ioctl())
    program.append((RETURN, 0, 0, ALLOW))
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in program)


def install(program: bytes) -> None:
    """Restrict this process and its children for good. Call `forbid_new_privileges` first."""
    code = ctypes.create_string_buffer(program, len(program))
    # struct sock_fprog, with padding before its pointer
    header = struct.pack("@HP", len(program) // 8, ctypes.addressof(code))
    buffer = ctypes.create_string_buffer(header, len(header))
    kernel.prctl(PR_SET_SECCOMP, MODE_FILTER, ctypes.addressof(buffer))


def _fail(number: int) -> Instruction:
    return RETURN, 0, 0, FAIL | number


def _allow_only_if_first_is(value: int) -> list[Instruction]:
    # Only the lower half, because the kernel ignores the upper half of a pid.
    return [
        (LOAD, 0, 0, FIRST),
        (JUMP_EQUAL, 0, 1, value),
        (RETURN, 0, 0, ALLOW),
        _fail(errno.EPERM),
    ]


def _clone(may_run_programs: bool) -> list[Instruction]:
    """Allow threads, processes only if programs may run, and never new namespaces."""
    checks: list[Instruction] = [(LOAD, 0, 0, FIRST), (JUMP_ANY_BIT, 0, 1, CLONE_NAMESPACES)]
    checks.append(_fail(errno.EPERM))
    if not may_run_programs:
        checks += [(JUMP_ANY_BIT, 1, 0, CLONE_THREAD), _fail(errno.EPERM)]
    return [*checks, (RETURN, 0, 0, ALLOW)]


def _ioctl() -> list[Instruction]:
    return [
        (LOAD, 0, 0, SECOND),
        (JUMP_EQUAL, 1, 0, TIOCSTI),
        (JUMP_EQUAL, 0, 1, TIOCLINUX),
        _fail(errno.EPERM),
        (RETURN, 0, 0, ALLOW),
    ]
