"""A sandbox worker on a kernel without Landlock. Run by test_sandbox.py."""

import errno
import socket
from typing import Any

from documents.extractors.confinement import landlock
from documents.extractors.sandbox_worker import serve


def missing(self: Any) -> None:
    raise OSError(errno.ENOSYS, "Function not implemented")


landlock.Ruleset.__init__ = missing  # type: ignore[method-assign]

if __name__ == "__main__":
    serve(socket.socket(fileno=0))
