"""The user that the embedded server runs as, and what that user may access."""

import ctypes
import os
import pwd
import stat
import subprocess
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

CLEAN_ENV = {"PATH": os.defpath, "LC_ALL": "C"}  # without our secrets or the user's PGPORT

CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 1, 2
PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP = 28, 1 << 2
PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE = 47, 2
CAPABILITY_VERSION_3 = 0x20080522

_libc = ctypes.CDLL(None, use_errno=True)


def _prctl(option: int, first: int, second: int = 0) -> None:
    words = (ctypes.c_ulong(word) for word in (first, second, 0, 0))
    if _libc.prctl(option, *words):
        raise OSError(ctypes.get_errno(), f"prctl({option})")


@dataclass(frozen=True)
class Account:
    """The server's user. Only root must choose another one, because PostgreSQL refuses root."""

    uid: int
    gid: int
    capability: int | None = None

    @classmethod
    def for_data(cls, data: Path) -> "Account":
        """The owner of the data; an unprivileged user if that is root or there is no data yet."""
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

    def with_access_to(self, program: str, *folders: Path) -> "Account":
        """Return this account with the capability to run the program and enter the folders.

        A checkout under /root is closed to other users. Rather than opening root's folders, the
        server gets the smallest capability that suffices: the second is for files written with
        umask 077 and for containers, which rarely have the first.
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
        """Drop root's rights; runs in the child, before exec."""
        if os.geteuid() != 0:
            return
        if self.capability is not None:
            # Without this, access(2), which PostgreSQL uses to find its own files, ignores the
            # capabilities of users other than root.
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
        """Create the folder, or take over one that root restored from a backup; mode 0700."""
        folder.mkdir(mode=0o700, exist_ok=True)
        shared = folder.parent.stat().st_mode & stat.S_IWOTH  # in /tmp it may be a symlink
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
        """Start the server as a daemon that outlives the command that started it."""

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
