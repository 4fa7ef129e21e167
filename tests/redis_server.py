"""A Redis for tests: the real one or Valkey where it is installed, otherwise fakeredis over TCP.

`REDIS_BINARY` names a server that is not on the PATH.
"""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

from fakeredis import TcpFakeServer

SECONDS = 30


def binary() -> str:
    found = map(shutil.which, ("redis-server", "valkey-server"))
    return os.environ.get("REDIS_BINARY", "") or next(filter(None, found), "")


@contextmanager
def redis_server(folder: Path) -> Iterator[int]:
    """Yields its port on 127.0.0.1."""
    with _real(folder) if binary() else _fake() as port:
        yield port


@contextmanager
def _real(folder: Path) -> Iterator[int]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    argv = [binary(), "--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder)]
    argv += ["--save", "", "--daemonize", "no"]
    with (folder / "redis.log").open("wb") as log:
        process = subprocess.Popen(argv, stdout=log, stderr=log)
    try:
        _wait_until_it_listens(port, process)
        yield port
    finally:
        process.kill()
        process.wait()


def _wait_until_it_listens(port: int, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + SECONDS
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            assert process.poll() is None, "the Redis server has ended"
            assert time.monotonic() < deadline
            time.sleep(0.01)
        else:
            return


@contextmanager
def _fake() -> Iterator[int]:
    server = TcpFakeServer(("127.0.0.1", 0), server_type="redis")
    server.daemon_threads = True
    Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield int(server.server_address[1])
    finally:
        server.shutdown()
        server.server_close()
