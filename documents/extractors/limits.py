"""Limits on memory and time, which a process imposes on itself before it reads a file."""

import ctypes
import os
import resource
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

OPEN_FILES = 64
GRACE_SECONDS = 5  # of processor time between SIGXCPU and SIGKILL
PR_SET_PDEATHSIG = 1


@dataclass(frozen=True, slots=True)
class Limits:
    memory_bytes: int
    cpu_seconds: int
    wall_seconds: float

    @classmethod
    def of(cls, request: Mapping[str, Any]) -> "Limits":
        return cls(request["memory_bytes"], request["cpu_seconds"], request["wall_seconds"])

    def and_then(self, later: "Limits") -> "Limits":
        """Return limits for work under these, followed by work under the later ones."""
        return Limits(
            max(self.memory_bytes, later.memory_bytes),
            max(self.cpu_seconds, later.cpu_seconds),
            self.wall_seconds + later.wall_seconds,
        )

    def impose(self, *, ceiling: "Limits") -> None:
        """Apply these limits to this process, which may later `widen` them up to the ceiling."""
        resource.setrlimit(resource.RLIMIT_AS, (self.memory_bytes, ceiling.memory_bytes))
        hard_limit = ceiling.cpu_seconds + GRACE_SECONDS
        resource.setrlimit(resource.RLIMIT_CPU, (self.cpu_seconds, hard_limit))
        resource.setrlimit(resource.RLIMIT_NOFILE, (OPEN_FILES, OPEN_FILES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.setitimer(signal.ITIMER_REAL, self.wall_seconds)  # SIGALRM ends it

    def widen(self) -> None:
        """Replace the imposed limits, for a file that turns out to need more."""
        _, memory = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (self.memory_bytes, memory))
        _, seconds = resource.getrlimit(resource.RLIMIT_CPU)
        resource.setrlimit(resource.RLIMIT_CPU, (self.cpu_seconds, seconds))
        signal.setitimer(signal.ITIMER_REAL, self.wall_seconds)


def die_with_parent() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def cpu_seconds_used() -> float:
    """Return the processor time of this process and of the children it has waited for."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system
