"""Reading a file, whatever it is, without letting it hurt anything but its own job."""

import atexit
import json
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from django.conf import settings

from .errors import BadFile, IngestError
from .extractors import extractor_for
from .extractors.wire import from_json
from .passages import Extracted

PATH = "/usr/local/bin:/usr/bin:/bin"  # where a cell looks for Tesseract


class Unreadable(BadFile):
    """A file that its reader refused, or that its limits stopped; the code says which."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class CellBroken(IngestError):
    code = "reader_broken"


def extract(data: bytes, *, media_type: str, name: str) -> Extracted:
    """Plain text and Markdown are read here: our own reading of them is bounded by their length.
    Everything else goes through foreign parsers, and so into the cell."""
    extractor = extractor_for(media_type)
    if extractor.is_harmless:
        return extractor.extract(data, name=name)
    ocr = _ocr() if extractor.holds_pictures else None
    return _cell().extract(data, media_type=media_type, name=name, ocr=ocr)


@cache
def _cell() -> "Cell":
    return Cell(**settings.EXTRACTION)


def _ocr() -> dict[str, Any] | None:
    """What the cell is told of it; nothing where no engine is set."""
    return {**settings.OCR, **settings.OCR_LIMITS} if settings.OCR["BACKEND"] else None


@dataclass
class Cell:
    """A process of ours that reads files in forks (documents/extractors/cell.py)."""

    memory_bytes: int
    output_bytes: int
    cpu_seconds: int
    wall_seconds: float
    module: str = "documents.extractors.cell"
    _process: subprocess.Popen[bytes] | None = None
    _mutex: threading.Lock = field(default_factory=threading.Lock)

    def extract(
        self, data: bytes, *, media_type: str, name: str, ocr: dict[str, Any] | None = None
    ) -> Extracted:
        request = {
            "media_type": media_type,
            "name": name,
            "size": len(data),
            "memory_bytes": self.memory_bytes,
            "output_bytes": self.output_bytes,
            "cpu_seconds": self.cpu_seconds,
            "wall_seconds": self.wall_seconds,
            "ocr": ocr,
        }
        with self._mutex:
            try:
                answer = self._ask(json.dumps(request).encode() + b"\n", data)
            except (OSError, ValueError) as error:
                self.close()  # the next document gets a new one
                raise CellBroken("The process that reads files has died.") from error
        if failure := answer.get("failure"):
            raise Unreadable(failure["code"], failure["message"])
        return from_json(answer)

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _ask(self, request: bytes, data: bytes) -> dict[str, Any]:
        process = self._running()
        if process.stdin is None or process.stdout is None:
            raise OSError("no pipes")
        process.stdin.write(request + data)
        process.stdin.flush()
        size = int(process.stdout.readline())
        body: dict[str, Any] = json.loads(process.stdout.read(size))
        return body

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self._process = subprocess.Popen(  # noqa: S603
                [sys.executable, "-m", self.module],
                cwd=Path(settings.BASE_DIR),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={"PATH": PATH, "PYTHONPATH": str(settings.BASE_DIR), "LC_ALL": "C"},
            )
            atexit.register(self.close)
        return self._process
