"""The cell where untrusted files are read: `python -m documents.extractors.cell`.

A small server that its parent talks to over a socket. A request is one JSON message with the file
as an open descriptor; the answer, JSON again, comes back as the descriptor of a file in memory, so
nothing is held twice and nothing that a hostile file has touched is ever unpickled. Each file is
read in a fork of its own, under limits on memory, processor time, wall time, output and open files;
whatever happens in there ends as one answer here.
"""

import ctypes
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
from typing import Any

from documents.errors import BadFile, UnsupportedType
from documents.extractors import extractor_for
from documents.extractors.wire import to_json

OPEN_FILES = 64
LONGEST_REQUEST = 64 * 1024
PR_SET_PDEATHSIG = 1
EXCEEDED: dict[int, str] = {
    signal.SIGXCPU: "processor time",
    signal.SIGXFSZ: "text",
    signal.SIGKILL: "memory",  # the kernel's doing, when all of it is gone
}


def serve(parent: socket.socket) -> None:
    while True:
        message, files, _, _ = socket.recv_fds(parent, LONGEST_REQUEST, 1)
        if not message:
            return  # the parent has gone
        request = json.loads(message)
        result = os.memfd_create("extracted")
        try:
            _prepare(request["media_type"])
            usage = _in_a_fork(request, files[0], result)
            socket.send_fds(parent, [json.dumps(usage).encode()], [result])
        finally:
            os.close(files[0])
            os.close(result)


def _prepare(media_type: str) -> None:
    """Import here what the forks would each import anew: half a second for some libraries."""
    with suppress(UnsupportedType, ImportError):  # the fork finds out, and says so
        for library in extractor_for(media_type).libraries:
            if library not in sys.modules:
                importlib.import_module(library)
                gc.freeze()  # the forks' collector need not look at it, nor copy its pages


def _in_a_fork(request: dict[str, Any], file: int, result: int) -> dict[str, float]:
    child = os.fork()
    if child == 0:
        _work(request, file, result)
    status, usage = _wait(child, request["wall_seconds"])
    if status != 0 or not os.lseek(result, 0, os.SEEK_END):
        os.ftruncate(result, 0)
        os.pwrite(result, _post_mortem(status), 0)
    return {"peak_bytes": usage.ru_maxrss * 1024, "cpu_seconds": usage.ru_utime + usage.ru_stime}


def _work(request: dict[str, Any], file: int, result: int) -> None:
    """Runs in the fork, and ends there."""
    code = 1
    try:
        _confine(request)
        answer = _read(request, file)
        while answer:
            answer = answer[os.write(result, answer) :]
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def _confine(request: dict[str, Any]) -> None:
    # The socket is the cell's; and when the cell dies, nobody waits for this file any more.
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    os.dup2(nowhere, 1)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    memory, output = request["memory_bytes"], request["output_bytes"]
    seconds = request["cpu_seconds"]
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
    resource.setrlimit(resource.RLIMIT_FSIZE, (output, output))
    resource.setrlimit(resource.RLIMIT_NOFILE, (OPEN_FILES, OPEN_FILES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # Python ignores it; we want to see it


def _read(request: dict[str, Any], file: int) -> bytes:
    extractor = extractor_for(request["media_type"])
    try:
        with os.fdopen(file, "rb") as opened:
            return to_json(extractor.extract_file(opened, name=request["name"]))
    except BadFile as error:
        return _failure(error.code, str(error))
    except MemoryError:
        return _failure("resource_limit", "The file needs more memory than one file may use.")
    except RecursionError:
        return _failure("too_complex", "The file is nested too deeply.")


def _failure(code: str, message: str) -> bytes:
    return json.dumps({"failure": {"code": code, "message": message}}).encode()


def _wait(child: int, seconds: float) -> tuple[int | None, resource.struct_rusage]:
    """The child's wait status and what it used; None, and no child any more, after the time."""
    handle = os.pidfd_open(child)
    try:
        ended, _, _ = select.select([handle], [], [], seconds)
        if not ended:
            os.kill(child, signal.SIGKILL)
        _, status, usage = os.wait4(child, 0)
        return (status if ended else None), usage
    finally:
        os.close(handle)


def _post_mortem(status: int | None) -> bytes:
    if status is None:
        return _failure("resource_limit", "Reading the file took too long.")
    exceeded = EXCEEDED.get(os.WTERMSIG(status)) if os.WIFSIGNALED(status) else None
    if exceeded:
        return _failure("resource_limit", f"The file needs more {exceeded} than one file may use.")
    return _failure("parse_error", "The file crashed its reader: it is damaged or hostile.")


if __name__ == "__main__":
    serve(socket.socket(fileno=0))
