"""System calls that Python does not offer."""

import ctypes
import os

PR_SET_NO_NEW_PRIVS = 38
PR_CAPBSET_DROP = 24
LAST_CAPABILITY = 63  # more than any kernel has; unknown ones are refused
CLONE_NEWNET = 0x40000000
CAPABILITY_VERSION_3 = 0x20080522

_libc = ctypes.CDLL(None, use_errno=True)


def syscall(number: int, *arguments: object) -> int:
    _libc.syscall.restype = ctypes.c_long
    return _checked(int(_libc.syscall(ctypes.c_long(number), *arguments)))


def forbid_new_privileges() -> None:
    """Executed programs gain no privileges from now on, by set-user-ID or file capabilities."""
    prctl(PR_SET_NO_NEW_PRIVS, 1)


def prctl(option: int, value: int, pointer: int = 0) -> int:
    numbers = (ctypes.c_ulong(number) for number in (value, pointer, 0, 0))
    return _checked(int(_libc.prctl(option, *numbers)))


def drop_capabilities() -> None:
    for capability in range(LAST_CAPABILITY + 1):
        try:
            prctl(PR_CAPBSET_DROP, capability)
        except OSError:
            break  # past the last one, or not allowed, in which case there is little to lose
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    nothing = (ctypes.c_uint32 * 6)()
    _checked(int(_libc.capset(header, nothing)))


def leave_network() -> None:
    """Move this process to a network namespace of its own, without any interface that is up."""
    _checked(int(_libc.unshare(CLONE_NEWNET)))


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
