"""Files and folders on this machine, each file with what its document is known by."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from documents.errors import UnsupportedType
from documents.intake.media_types import is_archive, looks_like_text, type_of_name

SNIFFED_BYTES = 4096


class OutsideRoot(UnsupportedType):
    code = "outside_root"


@dataclass(frozen=True, slots=True)
class FoundFile:
    path: Path
    source_uri: str  # the path below its root, with forward slashes, after the prefix
    origin: str  # the root, or what its owner calls it

    @property
    def name(self) -> str:
        return readable(self.path.name)


def readable(path: str | Path) -> str:
    """A file name may be any bytes; what is shown and stored is text."""
    return os.fsencode(path).decode(errors="replace")


def readable_files(paths: Iterable[Path]) -> Iterator[Path]:
    """The files named, and inside folders those of a kind we read; hidden ones are left out."""
    for path in paths:
        if path.is_dir():
            for found in sorted(path.rglob("*")):
                hidden = any(part.startswith(".") for part in found.relative_to(path).parts)
                if not hidden and found.is_file() and _is_readable(found):
                    yield found
        else:
            yield path


def found_files(
    paths: Iterable[Path], *, root: Path | None = None, source: str = "", prefix: str = ""
) -> Iterator[FoundFile]:
    """What `readable_files` finds. A folder is the root of what is in it, a file's root is its
    folder; `root` is one for all of them."""
    for path in paths:
        base = (root or (path if path.is_dir() else path.parent)).resolve()
        for file in readable_files([path]):
            # The folder is resolved and the file is not: a link keeps its own name.
            place = file.parent.resolve() / file.name
            if not place.is_relative_to(base):
                raise OutsideRoot(f"{readable(file)} is not below the root {readable(base)}.")
            below = readable(place.relative_to(base)).replace(os.sep, "/")
            uri = f"{prefix.rstrip('/')}/{below}" if prefix else below
            yield FoundFile(file, uri, source or origin_of(base))


def origin_of(root: Path) -> str:
    return f"folder:{readable(root.resolve())}"


def _is_readable(path: Path) -> bool:
    name = readable(path.name)
    if type_of_name(name) or is_archive(name, ""):
        return True
    if path.suffix:
        return False
    try:
        with path.open("rb") as file:
            head = file.read(SNIFFED_BYTES)
    except OSError:
        return False
    return bool(head) and looks_like_text(head)
