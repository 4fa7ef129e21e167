"""The file of an archive: a ZIP with the checksum of each member, written and read as a stream.

`archive.json` comes first and describes the archive; `end.json` comes last and lists all members
with their SHA-256. So a file that was truncated or changed is noticed before any of it is used.
"""

import hashlib
import json
import os
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from .errors import ArchiveFailed, ArchiveRefused

FIRST, LAST = "archive.json", "end.json"
BLOCK = 1024 * 1024
MAX_DESCRIPTION = 256 * 1024 * 1024
MAX_LINE = 200 * 1024 * 1024  # bytes of a row; PostgreSQL reads no JSON value above 256 MB
_NAME = re.compile(r"(rows|links)/[a-z_]+\.jsonl|originals/[0-9a-f-]{36}")
_UNREADABLE = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    OSError,
    ValueError,
    NotImplementedError,
    RuntimeError,
)


class ArchiveWriter:
    """Writes members one after another."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._members: dict[str, dict[str, Any]] = {}

    def add(self, name: str, blocks: Iterable[bytes]) -> str:
        """Write a member and return its SHA-256."""
        hashed, size = hashlib.sha256(), 0
        with self._archive.open(name, "w", force_zip64=True) as member:
            for block in blocks:
                hashed.update(block)
                size += len(block)
                member.write(block)
        self._members[name] = {"sha256": hashed.hexdigest(), "bytes": size}
        return hashed.hexdigest()

    def describe(self, description: str) -> None:
        """Write the description of the archive; called before any other member."""
        self._archive.writestr(FIRST, description)

    def finish(self, **more: Any) -> None:
        self._archive.writestr(LAST, json.dumps({"members": self._members, **more}))


@contextmanager
def writing(path: Path) -> Iterator[ArchiveWriter]:
    """Write an archive as `<path>.partial`, which is renamed when it is complete."""
    if path.exists():
        raise ArchiveFailed(f"{path} exists already.")
    draft = path.with_name(f"{path.name}.partial")
    try:
        with draft.open("wb") as file:
            os.fchmod(file.fileno(), 0o600)
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=3) as archive:
                yield ArchiveWriter(archive)
            file.flush()
            os.fsync(file.fileno())
        draft.rename(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


class ArchiveReader:
    """An archive whose members have all been compared with their checksums."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self.description = self._json(FIRST)
        self.end = self._json(LAST)
        try:
            self.members: dict[str, dict[str, Any]] = dict(self.end["members"])
            self._check()
        except (KeyError, TypeError, AttributeError) as error:
            raise ArchiveRefused("The archive is damaged: its list cannot be read.") from error

    def lines(self, name: str) -> Iterator[bytes]:
        """Yield the lines of a member; none if there is no such member."""
        if name not in self.members:
            return
        with self._archive.open(name) as member:
            while line := member.readline(MAX_LINE):
                if len(line) >= MAX_LINE:
                    raise ArchiveRefused(f"{name} has a row that is too large.")
                yield line

    @contextmanager
    def opened(self, name: str) -> Iterator[IO[bytes]]:
        with self._archive.open(name) as member:
            yield member

    def _json(self, name: str) -> dict[str, Any]:
        try:
            if self._archive.getinfo(name).file_size > MAX_DESCRIPTION:
                raise ArchiveRefused(f"{name} is too large.")
            found = json.loads(self._archive.read(name))
        except KeyError:
            raise ArchiveRefused(f"This is no complete archive: it has no {name}.") from None
        if not isinstance(found, dict):
            raise ArchiveRefused(f"{name} cannot be read.")
        return found

    def _check(self) -> None:
        names = self._archive.namelist()
        if sorted(names) != sorted([*self.members, FIRST, LAST]):
            raise ArchiveRefused("The archive's members are not those that it lists.")
        for name, wanted in self.members.items():
            if not _NAME.fullmatch(name):
                raise ArchiveRefused(f"The archive has a member of an unknown kind: {name[:80]!r}.")
            if self._digest(name) != wanted["sha256"]:
                raise ArchiveRefused(f"The archive is damaged: {name} has another checksum.")

    def _digest(self, name: str) -> str:
        hashed = hashlib.sha256()
        with self._archive.open(name) as member:
            while block := member.read(BLOCK):
                hashed.update(block)
        return hashed.hexdigest()


@contextmanager
def reading(path: Path) -> Iterator[ArchiveReader]:
    """Open an archive and compare all of it with its checksums. Raises ArchiveRefused."""
    try:
        archive = zipfile.ZipFile(path)
    except FileNotFoundError:
        raise ArchiveRefused(f"There is no file {path}.") from None
    except _UNREADABLE as error:
        raise ArchiveRefused(f"{path} is no complete archive ({error}).") from None
    with archive:
        try:
            reader = ArchiveReader(archive)
        except _UNREADABLE as error:
            raise ArchiveRefused(f"{path} is damaged ({error}).") from None
        yield reader
