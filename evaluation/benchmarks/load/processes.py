"""The resources that the processes of a service use, from /proc: CPU, memory, open handles."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class _Stat:
    parent: int
    seconds: float  # seconds of CPU, with children that have ended


def _stat(pid: int) -> _Stat | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = text.rpartition(")")[2].split()  # the name before it may contain any character
    return _Stat(int(fields[1]), sum(map(int, fields[11:15])) / _TICKS)


@dataclass(frozen=True, slots=True)
class ProcessTree:
    """A process and all its descendants."""

    root: int

    def pids(self) -> list[int]:
        parents = {}
        for name in os.listdir("/proc"):
            if name.isdigit() and (stat := _stat(int(name))):
                parents[int(name)] = stat.parent
        found, new = [self.root], {self.root}
        while new := {pid for pid, parent in parents.items() if parent in new}:
            found += sorted(new)
        return found

    def cpu_seconds(self) -> float:
        """Return the CPU seconds of running processes, and of those that ended and were waited
        for."""
        return sum(stat.seconds for stat in map(_stat, self.pids()) if stat)

    def megabytes(self) -> float:
        """Return resident memory, in which a page shared by several processes counts in parts."""
        return sum(map(_proportional_kilobytes, self.pids())) / 1024

    def resident_megabytes(self) -> dict[int, float]:
        return dict(self._resident())

    def handles(self) -> int:
        return sum(map(_handles, self.pids()))

    def _resident(self) -> Iterator[tuple[int, float]]:
        for pid in self.pids():
            try:
                pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
            except (FileNotFoundError, ProcessLookupError):
                continue
            yield pid, pages * _PAGE / 2**20


def _proportional_kilobytes(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/smaps_rollup") as lines:
            return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return 0


def _handles(pid: int) -> int:
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return 0


def postgres_tree() -> ProcessTree:
    """Return the processes of the server in the settings, if it runs on this machine."""
    from evaluation.benchmarks.data.corpus import owner_rows

    ((folder,),) = owner_rows("SHOW data_directory")
    return ProcessTree(int(Path(folder, "postmaster.pid").read_text().split()[0]))
