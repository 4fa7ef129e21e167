"""Files and folders on this machine, as submissions."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from .media_types import BY_SUFFIX


def readable_files(paths: Iterable[Path]) -> Iterator[Path]:
    """The files named, and inside folders those of a kind we read; hidden ones are left out."""
    for path in paths:
        if path.is_dir():
            for found in sorted(path.rglob("*")):
                hidden = any(part.startswith(".") for part in found.relative_to(path).parts)
                if found.is_file() and not hidden and found.suffix.lower() in BY_SUFFIX:
                    yield found
        else:
            yield path
