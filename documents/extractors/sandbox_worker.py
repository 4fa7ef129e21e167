"""The process that reads untrusted files: `python -m documents.extractors.sandbox_worker`.

A small server on a socket to its parent. A request is one JSON message with the file as an open
descriptor. The response is JSON in a file in memory, sent as a descriptor, so that it is not held
twice and nothing from a hostile file is ever unpickled. Each file is read in its own fork, confined
(documents/extractors/confinement) and limited in memory, processor time, wall time, output and open
files. Whatever happens in the fork, the parent gets one response.
"""

import codecs
import gc
import importlib
import json
import os
import resource
import select
import signal
import socket
import sys
import traceback
from contextlib import suppress
from typing import Any, BinaryIO

from documents.errors import BadFile, UnsupportedType
from documents.extractors import Extractor, extractor_for, reader_for
from documents.extractors.confinement.sandbox import Sandbox, SandboxFailed, SandboxOptions, as_json
from documents.extractors.limits import Limits, die_with_parent
from documents.extractors.serialization import to_json
from documents.ocr.base import OcrUnavailable
from documents.ocr.reader import PictureReader, engine_class
from documents.text import languages

MAX_REQUEST_BYTES = 64 * 1024
TOO_LONG = "Reading the file took too long."
MAILS = ("message/rfc822", "application/vnd.ms-outlook")  # each part has its own encoding
CONTAINERS = (b"PK\x03\x04", b"%PDF", b"\xd0\xcf\x11\xe0", b"\x89PNG", b"\xff\xd8\xff", b"RIFF")
BLOCK = 1024 * 1024
SANDBOX_FAILED = 3  # exit code of a fork that could not be confined
EXCEEDED: dict[int, str] = {
    signal.SIGXCPU: "processor time",
    signal.SIGXFSZ: "text",
    signal.SIGKILL: "memory",  # the kernel kills when all memory is used
}


def serve(parent: socket.socket) -> None:
    sandboxes: dict[str, Sandbox] = {}
    while True:
        message, files, _, _ = socket.recv_fds(parent, MAX_REQUEST_BYTES, 1)
        if not message:
            return  # the parent has ended
        request = json.loads(message)
        result = os.memfd_create("extracted")
        try:
            report = _handle(request, files[0], result, sandboxes)
            socket.send_fds(parent, [json.dumps(report).encode()], [result])
        finally:
            os.close(files[0])
            os.close(result)


def _handle(
    request: dict[str, Any], file: int, result: int, sandboxes: dict[str, Sandbox]
) -> dict[str, Any]:
    """Write the response into `result`; return the report that accompanies it."""
    _prepare(request, file)
    sandbox = _sandbox(request, sandboxes)
    try:
        protection = {"protection": as_json(sandbox.protection)}
    except SandboxFailed as error:
        os.pwrite(result, _broken(str(error)), 0)
        return _usage(resource.getrusage(resource.RUSAGE_SELF)) | {"protection": {}}
    if "survey" in request:  # only asks which layers of the sandbox work
        os.pwrite(result, b"{}", 0)
        return _usage(resource.getrusage(resource.RUSAGE_SELF)) | protection
    return _in_a_fork(request, file, result, sandbox) | protection


def _sandbox(request: dict[str, Any], sandboxes: dict[str, Sandbox]) -> Sandbox:
    """Return the sandbox for these options, with or without an OCR engine."""
    options, ocr = request.get("sandbox", {}), request["ocr"]
    key = json.dumps([options, ocr])
    if key not in sandboxes:
        runs_programs = False
        with suppress(OcrUnavailable):  # the fork reports it
            runs_programs = bool(ocr and engine_class(ocr).runs_programs)
        sandboxes[key] = Sandbox(SandboxOptions.of(options), ocr=ocr, runs_programs=runs_programs)
    return sandboxes[key]


def _prepare(request: dict[str, Any], file: int) -> None:
    """Import libraries once, before forking: some take half a second."""
    if "draw" in request:
        _drawing_module()
        return
    if _may_need_encoding_guess(request["media_type"], file):
        languages.load()  # a fork may not open files
    with suppress(UnsupportedType, ImportError):  # the fork reports it
        loaded = len(sys.modules)
        extractor_for(request["media_type"])
        if len(sys.modules) > loaded:
            gc.freeze()  # so that garbage collection in a fork does not copy these pages


def _drawing_module() -> Any:
    """Imported only where pages are drawn, and before the first fork."""
    return importlib.import_module("documents.extractors.drawing.pages")


def _may_need_encoding_guess(media_type: str, file: int) -> bool:
    """Whether the encoding may have to be guessed, which needs the language detector."""
    if media_type in MAILS:
        return True
    decoder, place = codecs.getincrementaldecoder("utf-8")(), 0
    while block := os.pread(file, BLOCK, place):
        if not place and block.startswith(CONTAINERS):
            return False
        place += len(block)
        try:
            decoder.decode(block)
        except UnicodeDecodeError:
            return True
    return False


def _in_a_fork(
    request: dict[str, Any], file: int, result: int, sandbox: Sandbox
) -> dict[str, float]:
    server = os.getpid()
    child = os.fork()
    if child == 0:
        _run_fork(request, file, result, sandbox, server)
    # The fork has its own timer; this one is for a fork that blocks that signal.
    status, usage = _wait(child, _ceiling(request).wall_seconds + 1)
    if status != 0 or not os.lseek(result, 0, os.SEEK_END):
        os.ftruncate(result, 0)
        os.pwrite(result, _failure_of(status), 0)
    return _usage(usage)


def _usage(usage: resource.struct_rusage) -> dict[str, float]:
    return {"peak_bytes": usage.ru_maxrss * 1024, "cpu_seconds": usage.ru_utime + usage.ru_stime}


def _run_fork(
    request: dict[str, Any], file: int, result: int, sandbox: Sandbox, server: int
) -> None:
    """Read one file. Runs in the fork and never returns."""
    code = 1
    try:
        _confine(request, sandbox, server)
        answer = _read(request, file)
        while answer:
            answer = answer[os.write(result, answer) :]
        code = 0
    except SandboxFailed:
        traceback.print_exc()
        code = SANDBOX_FAILED
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def _confine(request: dict[str, Any], sandbox: Sandbox, server: int) -> None:
    # The socket belongs to the parent process.
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    os.dup2(nowhere, 1)
    os.close(nowhere)
    os.setpgid(0, 0)  # so that its own children are killed with it
    Limits.of(request).impose(ceiling=_ceiling(request))
    output = request["output_bytes"]
    resource.setrlimit(resource.RLIMIT_FSIZE, (output, output))
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # Python ignores this signal by default
    sandbox.enter()
    # If the sandbox worker dies, the result is no longer needed. This comes last because
    # changing the user undoes it.
    die_with_parent()
    if os.getppid() != server:
        os._exit(1)


def _ceiling(request: dict[str, Any]) -> Limits:
    """Return limits that include OCR, for a file that turns out to need it."""
    usual = Limits.of(request)
    return usual.and_then(Limits.of(request["ocr"])) if request["ocr"] else usual


def _extractor(request: dict[str, Any]) -> Extractor:
    extractor = reader_for(request["media_type"], encoding=request["encoding"])
    ocr = request["ocr"]
    if not ocr:
        return extractor
    limits = Limits.of(ocr)
    pictures = PictureReader(ocr, max_pages=ocr["max_pages"], limits=limits, begin=limits.widen)
    return extractor.with_pictures_read_by(pictures)


def _read(request: dict[str, Any], file: int) -> bytes:
    try:
        with os.fdopen(file, "rb") as opened:
            if "draw" in request:
                return _draw(request, opened)
            return to_json(_extractor(request).extract_file(opened, name=request["name"]))
    except (BadFile, OcrUnavailable) as error:
        return _failure(error.code, str(error))
    except MemoryError:
        return _failure("resource_limit", "The file needs more memory than one file may use.")
    except RecursionError:
        return _failure("too_complex", "The file is nested too deeply.")


def _draw(request: dict[str, Any], file: BinaryIO) -> bytes:
    drawing = _drawing_module()
    wanted = drawing.Drawing(**request["draw"])
    return json.dumps(drawing.draw(file, request["media_type"], wanted)).encode()


def _broken(message: str) -> bytes:
    """Report a failure that is our fault, not the file's."""
    return json.dumps({"broken": message}).encode()


def _failure(code: str, message: str) -> bytes:
    return json.dumps({"failure": {"code": code, "message": message}}).encode()


def _wait(child: int, seconds: float) -> tuple[int | None, resource.struct_rusage]:
    """Return the child's wait status and resource usage, or None if killed after `seconds`."""
    handle = os.pidfd_open(child)
    try:
        ended, _, _ = select.select([handle], [], [], seconds)
        if not ended:
            os.kill(child, signal.SIGKILL)
        with suppress(ProcessLookupError):  # processes it has started, if any
            os.killpg(child, signal.SIGKILL)
        _, status, usage = os.wait4(child, 0)
        return (status if ended else None), usage
    finally:
        os.close(handle)


def _failure_of(status: int | None) -> bytes:
    if status is None:
        return _failure("resource_limit", TOO_LONG)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGALRM:
        return _failure("resource_limit", TOO_LONG)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status) == SANDBOX_FAILED:
        return _broken("The sandbox that files are read in could not be entered.")
    exceeded = EXCEEDED.get(os.WTERMSIG(status)) if os.WIFSIGNALED(status) else None
    if exceeded:
        return _failure("resource_limit", f"The file needs more {exceeded} than one file may use.")
    return _failure("parse_error", "The file crashed its reader: it is damaged or hostile.")


if __name__ == "__main__":
    serve(socket.socket(fileno=0))
