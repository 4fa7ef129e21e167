"""Files that a confined process may still read: Python, its libraries and a few system files.
They include none of the service's data, settings or secrets."""

import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

LIBRARIES = (
    *("/lib", "/lib32", "/lib64", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/share"),
    *("/usr/local/lib", "/usr/local/share"),
    *("/etc/ld.so.cache", "/etc/localtime", "/etc/mime.types", "/etc/fonts"),
)
PROCESSOR = (
    *("/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/sys/vm", "/proc/sys/kernel/osrelease"),
    "/sys/devices/system",
)
DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random")
WRITABLE = ("/dev/null",)
PROGRAMS = ("/bin", "/usr/bin", "/usr/local/bin", "/lib", "/lib64", "/usr/lib", "/usr/lib64")


def code_paths(root: Path) -> list[str]:
    """Return the folders where Python finds modules. Below `root`, where the service is installed,
    only the readers, because its settings and often its data are there as well."""
    found = {os.path.realpath(path) for path in sys.path if path}
    found = {path for path in found if not root.is_relative_to(path)}
    return sorted(path for path in found | {str(root / "documents")} if os.path.exists(path))


def paths_in(options: Any) -> list[str]:
    """Return the files and folders named in an engine's options, such as models and a program."""
    if isinstance(options, dict):
        return [path for value in options.values() for path in paths_in(value)]
    if isinstance(options, list):
        return [path for value in options for path in paths_in(value)]
    return [options] if isinstance(options, str) and os.path.isabs(options) else []


def first_unreadable(paths: Iterable[str], files: Sequence[str]) -> str | None:
    """Whether this process may read it now. Folders must also be listable."""
    for path in paths:
        rights = os.R_OK | (os.X_OK if os.path.isdir(path) else 0)
        if not os.access(path, rights):
            return path
    return next((path for path in files if not os.access(path, os.R_OK)), None)


def loaded_files() -> list[str]:
    """Return files of imported modules: if they can be read, so can the files next to them."""
    files = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    return [file for file in files if file and os.path.isabs(file)]
