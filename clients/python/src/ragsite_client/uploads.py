"""Files as a multipart body that is read while it is sent, and reports how far it is."""

import io
import json
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from .errors import RagsiteError
from .options import TextDocument

# A path, or a name with the file's bytes.
FileInput = str | os.PathLike[str] | tuple[str, bytes]
ProgressCallback = Callable[[int, int], None]  # bytes sent, bytes altogether


class _Progress:
    def __init__(self, total: int, report: ProgressCallback | None) -> None:
        self.total, self.report, self.sent = total, report, 0

    def add(self, count: int) -> None:
        self.sent += count
        if self.report and count:
            self.report(self.sent, self.total)


class _ReportingFile:
    """A file that counts what is read from it. Opened at the first read, closed after the last."""

    def __init__(self, source: Path | bytes, size: int, progress: _Progress) -> None:
        self._source, self._size, self._progress = source, size, progress
        self._file: IO[bytes] | None = None

    def read(self, count: int = -1) -> bytes:
        if self._file is None:
            if isinstance(self._source, bytes):
                self._file = io.BytesIO(self._source)
            else:
                self._file = self._source.open("rb")
        data = self._file.read(count)
        self._progress.add(len(data))
        if not data:
            self.close()
        return data

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Only what httpx2 asks for: to the end for the size, and back."""
        return self._size if whence == io.SEEK_END else offset

    def tell(self) -> int:
        return 0

    def close(self) -> None:
        if self._file is not None:
            with suppress(OSError):
                self._file.close()


@dataclass(frozen=True)
class Upload:
    files: Sequence[FileInput]
    options: dict[str, Any]  # for every file: tags, metadata, encoding, …
    each: Sequence[TextDocument] | None = None  # for one file each, above `options`
    on_duplicate: str = "skip"
    wait: float = 0.0
    on_progress: ProgressCallback | None = None

    def body(self) -> dict[str, Any]:
        """Arguments for httpx2, new for each attempt."""
        sources = [_source_of(one) for one in self.files]
        own = self.each if self.each is not None else [{}] * len(sources)
        if len(own) != len(sources):
            raise RagsiteError(f"each: {len(own)} entries for {len(sources)} files.")
        sizes = [len(s) if isinstance(s, bytes) else s.stat().st_size for _, s in sources]
        progress = _Progress(sum(sizes), self.on_progress)
        parts = [
            ("file", (name, _ReportingFile(source, size, progress)))
            for (name, source), size in zip(sources, sizes, strict=True)
        ]
        described = json.dumps([{**self.options, **one} for one in own])
        form = {"files": described, "on_duplicate": self.on_duplicate, "wait": str(self.wait)}
        return {"files": parts, "data": form}


def _source_of(one: FileInput) -> tuple[str, Path | bytes]:
    if isinstance(one, tuple):
        name, content = one
        return name, content
    path = Path(one)
    if not path.is_file():
        raise RagsiteError(f"There is no file {str(path)!r}.")
    return path.name, path
