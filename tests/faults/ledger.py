"""What the service has promised: every acknowledged upload, written before anything else."""

import hashlib
import json
import os
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path

GONE = "gone"  # deleted on request
FINAL = ("ready", "failed", "cancelled")


@dataclass
class Entry:
    """One acknowledged upload. `expected` is what must be true of it in the end."""

    namespace: str
    document_id: str
    sha256: str
    acknowledged_at: float
    expected: str = "ready"


@dataclass(frozen=True)
class Seen:
    """What the service shows for an entry: its status, or GONE, and the hash of the original."""

    status: str
    sha256: str = ""


@dataclass
class Verdict:
    """What became of the entries. Only an empty one is good."""

    lost: list[Entry] = field(default_factory=list)
    leaked: list[Entry] = field(default_factory=list)
    stuck: list[Entry] = field(default_factory=list)

    @property
    def is_good(self) -> bool:
        return not (self.lost or self.leaked or self.stuck)


class Ledger:
    """Entries in a file, each written through to the disk before `note` returns."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("a", encoding="utf-8")
        self._writing = threading.Lock()
        self._entries: dict[str, Entry] = {}

    def note(self, namespace: str, document_id: str, content: bytes) -> Entry:
        """Note an upload that was acknowledged; a later version replaces the earlier one."""
        digest = hashlib.sha256(content).hexdigest()
        entry = Entry(namespace, document_id, digest, time.time())
        self._keep(entry)
        return entry

    def expect(self, document_id: str, status: str) -> None:
        """Note that something else was acknowledged since: a deletion, or a refusal that is due."""
        entry = self._entries[document_id]
        entry.expected = status
        self._keep(entry)

    def entries(self, namespace: str) -> list[Entry]:
        with self._writing:
            return [entry for entry in self._entries.values() if entry.namespace == namespace]

    def _keep(self, entry: Entry) -> None:
        with self._writing:
            self._entries[entry.document_id] = entry
            self._file.write(json.dumps(asdict(entry)) + "\n")
            self._file.flush()
            os.fsync(self._file.fileno())


def compare(entries: Iterable[Entry], look: Callable[[Entry], Seen]) -> Verdict:
    """Hold each entry against what the service shows."""
    verdict = Verdict()
    for entry in entries:
        seen = look(entry)
        if entry.expected == GONE:
            if seen.status != GONE:
                verdict.leaked.append(entry)
        elif seen.status == GONE:
            verdict.lost.append(entry)
        elif seen.status not in FINAL:
            verdict.stuck.append(entry)
        elif seen.status != entry.expected or seen.sha256 != entry.sha256:
            verdict.lost.append(entry)
    return verdict
