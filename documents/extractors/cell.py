"""The cell where untrusted files are read: `python -m documents.extractors.cell`.

A small server that its parent talks to over pipes. Each file is read in a fork of its own, under
limits on memory, processor time, wall time, output and open files; whatever happens in there ends
as one answer here. Answers are JSON: nothing that a hostile file has touched is ever unpickled.
"""

import json
import os
import resource
import select
import signal
import sys
import traceback
from typing import Any, BinaryIO

from documents.errors import BadFile
from documents.extractors import Extractor, extractor_for
from documents.extractors.wire import to_json
from documents.limits import Limits, die_with_parent
from documents.ocr.base import OcrUnavailable
from documents.ocr.reader import PictureReader

TOO_LONG = "Reading the file took too long."
EXCEEDED: dict[int, str] = {
    signal.SIGXCPU: "processor time",
    signal.SIGXFSZ: "text",
    signal.SIGKILL: "memory",  # the kernel's doing, when all of it is gone
}


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    while line := requests.readline():
        request = json.loads(line)
        answer = _in_a_fork(request, requests.read(request["size"]))
        answers.write(b"%d\n" % len(answer) + answer)
        answers.flush()


def _in_a_fork(request: dict[str, Any], data: bytes) -> bytes:
    result = os.memfd_create("extracted")
    try:
        child = os.fork()
        if child == 0:
            _work(request, data, result)
        # Its own clock ends it; this one is for what does not heed that.
        status = _wait(child, _ceiling(request).wall_seconds + 1)
        size = os.lseek(result, 0, os.SEEK_END)
        return os.pread(result, size, 0) if status == 0 and size else _post_mortem(status)
    finally:
        os.close(result)


def _work(request: dict[str, Any], data: bytes, result: int) -> None:
    """Runs in the fork, and ends there."""
    code = 1
    try:
        _confine(request)
        answer = _read(request, data)
        while answer:
            answer = answer[os.write(result, answer) :]
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def _confine(request: dict[str, Any]) -> None:
    # The pipes are the cell's; and when the cell dies, nobody waits for this file any more.
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    os.dup2(nowhere, 1)
    die_with_parent()
    Limits.of(request).impose(ceiling=_ceiling(request))
    output = request["output_bytes"]
    resource.setrlimit(resource.RLIMIT_FSIZE, (output, output))
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # Python ignores it; we want to see it


def _ceiling(request: dict[str, Any]) -> Limits:
    """OCR takes longer than anything else; a file gets its limits when it turns out to need it."""
    usual = Limits.of(request)
    return usual.and_then(Limits.of(request["ocr"])) if request["ocr"] else usual


def _extractor(request: dict[str, Any]) -> Extractor:
    extractor = extractor_for(request["media_type"])
    ocr = request["ocr"]
    if not ocr:
        return extractor
    limits = Limits.of(ocr)
    pictures = PictureReader(ocr, max_pages=ocr["max_pages"], limits=limits, begin=limits.widen)
    return extractor.with_pictures_read_by(pictures)


def _read(request: dict[str, Any], data: bytes) -> bytes:
    try:
        return to_json(_extractor(request).extract(data, name=request["name"]))
    except (BadFile, OcrUnavailable) as error:
        return _failure(error.code, str(error))
    except MemoryError:
        return _failure("resource_limit", "The file needs more memory than one file may use.")
    except RecursionError:
        return _failure("too_complex", "The file is nested too deeply.")


def _failure(code: str, message: str) -> bytes:
    return json.dumps({"failure": {"code": code, "message": message}}).encode()


def _wait(child: int, seconds: float) -> int | None:
    """The child's wait status; None, and no child any more, after so many seconds."""
    handle = os.pidfd_open(child)
    try:
        ended, _, _ = select.select([handle], [], [], seconds)
        if not ended:
            os.kill(child, signal.SIGKILL)
        status = os.waitpid(child, 0)[1]
        return status if ended else None
    finally:
        os.close(handle)


def _post_mortem(status: int | None) -> bytes:
    if status is None:
        return _failure("resource_limit", TOO_LONG)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGALRM:
        return _failure("resource_limit", TOO_LONG)
    exceeded = EXCEEDED.get(os.WTERMSIG(status)) if os.WIFSIGNALED(status) else None
    if exceeded:
        return _failure("resource_limit", f"The file needs more {exceeded} than one file may use.")
    return _failure("parse_error", "The file crashed its reader: it is damaged or hostile.")


if __name__ == "__main__":
    serve(sys.stdin.buffer, sys.stdout.buffer)
