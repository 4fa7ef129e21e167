"""The sandbox worker with a reader that does what the file says. Run by test_extraction.py."""

import ctypes
import os
import socket
import time

from documents.errors import ParseError
from documents.extractors.base import Extractor
from documents.extractors.formats import FORMATS, Format
from documents.extractors.sandbox_worker import serve
from documents.passages import Extracted, Page
from tests.documents.hostile_acts import attempt


class ObedientExtractor(Extractor):
    def extract(self, data: bytes, *, name: str = "") -> Extracted:
        act, *arguments = data.decode().split()
        return getattr(self, act)(*arguments)

    def answer(self) -> Extracted:
        return Extracted("Ünï\u2028 text", pages=(Page(1, 0, 9),), metadata={"pid": os.getpid()})

    def complain(self) -> Extracted:
        raise ParseError("It is broken.")

    def bug(self) -> Extracted:
        raise RuntimeError("secret words of the library")

    def hang(self) -> Extracted:
        time.sleep(600)
        raise AssertionError

    def spin(self) -> Extracted:
        while True:
            pass

    def hoard(self) -> Extracted:
        return Extracted("x" * 2**33)

    def gush(self) -> Extracted:
        return Extracted("x" * 30 * 2**20)

    def dig(self) -> Extracted:
        return self.dig()

    def crash(self) -> Extracted:
        ctypes.string_at(0)
        raise AssertionError

    def leave(self) -> Extracted:
        os._exit(0)

    def attempt(self, act: str, *arguments: str) -> Extracted:
        return Extracted(attempt(act, *arguments))

    def identity(self) -> Extracted:
        libc = ctypes.CDLL(None)
        capabilities = (ctypes.c_uint32 * 6)()
        libc.capget((ctypes.c_uint32 * 2)(0x20080522, 0), capabilities)
        found = {
            "users": [*os.getresuid(), *os.getresgid()],
            "groups": os.getgroups(),
            "capabilities": sum(capabilities),
            "no_new_privileges": libc.prctl(39, 0, 0, 0, 0),
            "parent": os.getppid(),
        }
        return Extracted("identity", metadata=found)

    def spawn(self, *arguments: str) -> Extracted:
        """A child that would outlive its parent."""
        child = os.fork()
        if child == 0:
            time.sleep(600)
        return Extracted("spawned", metadata={"pid": child})

    def open_many(self) -> Extracted:
        kept = [open(os.devnull) for _ in range(1000)]  # noqa: SIM115
        return Extracted(str(len(kept)))


FORMATS["application/x-obedient"] = Format(
    "obedient", "tests.documents.hostile_worker.ObedientExtractor"
)

if __name__ == "__main__":
    serve(socket.socket(fileno=0))
