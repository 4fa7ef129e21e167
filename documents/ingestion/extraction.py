"""Extract a file's text; parsers run in a sandboxed process, so a bad file fails only its job."""

import atexit
import json
import logging
import os
import socket
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

from django.conf import settings

from documents.errors import BadFile, IngestError
from documents.extractors import format_of, reader_for
from documents.extractors.serialization import from_json
from documents.passages import Extracted

logger = logging.getLogger(__name__)

# PATH is also where the sandbox worker finds Tesseract.
ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C", "HOME": "/nonexistent"}
MAX_REPORT_BYTES = 4096


class Unreadable(BadFile):
    """The extractor refused the file, or a limit stopped it; the code says which."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class SandboxWorkerFailed(IngestError):
    code = "reader_broken"


def extract(file: BinaryIO, *, media_type: str, name: str, encoding: str = "") -> Extracted:
    """Extract text and structure from a file.

    Plain text and Markdown are read in this process, because our own parsers are bounded by the
    file's length. Everything else goes through third-party parsers, and so into the sandbox.
    """
    kind = format_of(media_type)
    if kind.is_harmless:
        return reader_for(media_type, encoding=encoding).extract_file(file, name=name)
    ocr = ocr_options() if kind.holds_pictures else None
    return shared_sandbox_worker().extract(
        file, media_type=media_type, name=name, ocr=ocr, encoding=encoding
    )


@cache
def shared_sandbox_worker() -> "SandboxWorker":
    """Return this process's sandbox, which starts with the first file."""
    return SandboxWorker(**settings.EXTRACTION)


def ocr_options() -> dict[str, Any] | None:
    """Return the OCR settings for the sandbox; None where no engine is configured."""
    return {**settings.OCR, **settings.OCR_LIMITS} if settings.OCR["BACKEND"] else None


@dataclass
class SandboxWorker:
    """A child process that reads each file in a fork (documents/extractors/sandbox_worker.py)."""

    memory_bytes: int
    output_bytes: int
    cpu_seconds: int
    wall_seconds: float
    module: str = "documents.extractors.sandbox_worker"
    sandbox: dict[str, Any] = field(
        default_factory=dict
    )  # see documents/extractors/confinement/sandbox.py
    peak_bytes: int = 0  # peak memory of the process that read the last file
    protection: dict[str, Any] = field(default_factory=dict)  # which layers of the sandbox hold
    _process: subprocess.Popen[bytes] | None = None
    _socket: socket.socket | None = None
    _mutex: threading.Lock = field(default_factory=threading.Lock)

    def extract(
        self,
        file: BinaryIO,
        *,
        media_type: str,
        name: str,
        ocr: dict[str, Any] | None = None,
        encoding: str = "",
    ) -> Extracted:
        """Extract a file in the sandbox. It must have a descriptor that can be passed on."""
        request = {
            "media_type": media_type,
            "name": name,
            "encoding": encoding,
            "memory_bytes": self.memory_bytes,
            "output_bytes": self.output_bytes,
            "cpu_seconds": self.cpu_seconds,
            "wall_seconds": self.wall_seconds,
            "sandbox": self.sandbox,
            "ocr": ocr,
        }
        answer = self._answer(request, file)
        if failure := answer.get("failure"):
            raise Unreadable(failure["code"], failure["message"])
        return from_json(answer)

    def draw(self, file: BinaryIO, *, media_type: str, drawing: dict[str, Any]) -> dict[str, Any]:
        """Draw one page in the sandbox, or find a passage on it (extractors/drawing/pages.py)."""
        request = {
            "media_type": media_type,
            "memory_bytes": self.memory_bytes,
            "output_bytes": self.output_bytes,
            "cpu_seconds": self.cpu_seconds,
            "wall_seconds": self.wall_seconds,
            "sandbox": self.sandbox,
            "ocr": None,
            "draw": drawing,
        }
        answer = self._answer(request, file)
        if failure := answer.get("failure"):
            raise Unreadable(failure["code"], failure["message"])
        return answer

    def survey(self, ocr: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return which layers of the sandbox work on this machine, by trying them out."""
        request = {"survey": True, "media_type": "", "sandbox": self.sandbox, "ocr": ocr}
        with open(os.devnull, "rb") as nothing:
            self._answer(request, nothing)
        return self.protection

    def _answer(self, request: dict[str, Any], file: BinaryIO) -> dict[str, Any]:
        with self._mutex:
            try:
                answer = self._ask(json.dumps(request).encode(), file)
            except (OSError, ValueError) as error:
                self.close()  # the next file starts a new one
                raise SandboxWorkerFailed("The process that reads files has died.") from error
        if broken := answer.get("broken"):
            raise SandboxWorkerFailed(broken)
        return answer

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _ask(self, request: bytes, file: BinaryIO) -> dict[str, Any]:
        worker = self._running()
        socket.send_fds(worker, [request], [file.fileno()])
        usage, results, _, _ = socket.recv_fds(worker, MAX_REPORT_BYTES, 1)
        if not results:
            raise OSError("no answer")
        with os.fdopen(results[0], "rb") as result:
            report = json.loads(usage)
            self.peak_bytes = report["peak_bytes"]
            self._note(report["protection"])
            result.seek(0)
            body: dict[str, Any] = json.load(result)
        return body

    def _note(self, protection: dict[str, Any]) -> None:
        """Log the sandbox's protection once, and again when it changes."""
        if protection and protection != self.protection:
            level = logging.INFO if protection["is_complete"] else logging.WARNING
            logger.log(level, "reader.protection", extra=protection)
            self.protection = protection

    def _running(self) -> socket.socket:
        if self._socket is None or self._process is None or self._process.poll() is not None:
            self.close()
            # SEQPACKET keeps a request and its descriptor together.
            self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            with theirs:
                self._process = subprocess.Popen(  # noqa: S603
                    [sys.executable, "-m", self.module],
                    cwd=Path(settings.BASE_DIR),
                    stdin=theirs.fileno(),
                    stdout=subprocess.DEVNULL,
                    env=ENVIRONMENT | {"PYTHONPATH": str(settings.BASE_DIR)},
                )
            atexit.register(self.close)
        return self._socket
