"""Landlock: the kernel restricts which files this process and its children may still open.

See https://docs.kernel.org/userspace-api/landlock.html. What is already open stays open.
"""

import ctypes
import os
import stat
import struct
from collections.abc import Iterable

from documents.extractors.confinement import kernel

# These numbers are the same on all architectures.
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
GET_VERSION = 1
PATH_BENEATH = 1

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
TRUNCATE, IOCTL_DEV = 1 << 14, 1 << 15
ALL_OF_VERSION_1 = (1 << 13) - 1
REFER = 1 << 13
FOR_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
READ = READ_FILE | READ_DIR
ALL_TCP = 0b11
ABSTRACT_SOCKETS_AND_SIGNALS = 0b11


def version() -> int:
    """Return the version of the kernel's Landlock; 0 without Landlock."""
    try:
        return kernel.syscall(
            CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(GET_VERSION)
        )
    except OSError:
        return 0


class Ruleset:
    """Rules that allow only what is added. Created once, imposed on any number of forks."""

    def __init__(self) -> None:
        self.version = version()
        self._files = _file_rights(self.version)
        attributes = struct.pack("=Q", self._files)
        if self.version >= 4:
            attributes += struct.pack("=Q", ALL_TCP)
        if self.version >= 6:
            attributes += struct.pack("=Q", ABSTRACT_SOCKETS_AND_SIGNALS)
        size = ctypes.c_size_t(len(attributes))
        self.descriptor = kernel.syscall(CREATE_RULESET, attributes, size, ctypes.c_uint32(0))

    def allow(self, rights: int, paths: Iterable[str]) -> None:
        """Allow access below these paths; paths that do not exist are skipped."""
        for path in paths:
            try:
                descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
            except OSError:
                continue
            try:
                self._add(rights, descriptor)
            finally:
                os.close(descriptor)

    def _add(self, rights: int, descriptor: int) -> None:
        allowed = rights & self._files
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            allowed &= FOR_FILES
        rule = struct.pack("=Qi", allowed, descriptor)
        ruleset = ctypes.c_int(self.descriptor)
        kernel.syscall(ADD_RULE, ruleset, ctypes.c_int(PATH_BENEATH), rule, ctypes.c_uint32(0))

    def impose(self) -> None:
        """Restrict this process and its children for good. Call `forbid_new_privileges` first."""
        kernel.syscall(RESTRICT_SELF, ctypes.c_int(self.descriptor), ctypes.c_uint32(0))


def _file_rights(version: int) -> int:
    rights = ALL_OF_VERSION_1
    if version >= 2:
        rights |= REFER
    if version >= 3:
        rights |= TRUNCATE
    if version >= 5:
        rights |= IOCTL_DEV
    return rights
