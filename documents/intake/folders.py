"""Find files in folders on this machine, and the source_uri and origin of each."""

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
    origin: str  # the root, or the name given to it

    @property
    def name(self) -> str:
        return readable(self.path.name)


def readable(path: str | Path) -> str:
    """Decode a path for display and storage: a file name may be any bytes."""
    return os.fsencode(path).decode(errors="replace")


def readable_files(paths: Iterable[Path]) -> Iterator[Path]:
    """Yield the named files, and those of a supported type in the named folders, unless hidden."""
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
    """Yield the files that `readable_files` finds. The root is `root`, or else the named folder, or
    else the folder of the named file. Raises OutsideRoot."""
    for path in paths:
        base = (root or (path if path.is_dir() else path.parent)).resolve()
        for file in readable_files([path]):
            # Resolve the folder but not the file: a link keeps its own name.
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
