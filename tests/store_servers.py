"""Real search stores on this machine, and a door before them that can be shut.

Qdrant is found by QDRANT_URL (a server that is running) or QDRANT_BINARY (a program that is started
here); Chroma by its package. Where there is neither, tests say so and are skipped.
"""

import os
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

READY_SECONDS = 60


def missing_qdrant() -> str:
    """Why there is no Qdrant here; "" if there is one."""
    if find_spec("qdrant_client") is None:
        return "qdrant-client is not installed (requirements/qdrant.txt)"
    if not (os.environ.get("QDRANT_URL") or os.environ.get("QDRANT_BINARY")):
        return "neither QDRANT_URL nor QDRANT_BINARY says where Qdrant is"
    return ""


@contextmanager
def qdrant(folder: Path) -> Iterator[str]:
    """Yield the address of a running server."""
    if address := os.environ.get("QDRANT_URL"):
        yield address
        return
    ports = free_ports(2)
    settings = {
        "QDRANT__SERVICE__HOST": "127.0.0.1",
        "QDRANT__SERVICE__HTTP_PORT": str(ports[0]),
        "QDRANT__SERVICE__GRPC_PORT": str(ports[1]),
        "QDRANT__STORAGE__STORAGE_PATH": str(folder / "storage"),
        "QDRANT__STORAGE__SNAPSHOTS_PATH": str(folder / "snapshots"),
        "QDRANT__TELEMETRY_DISABLED": "true",
    }
    command = [os.environ["QDRANT_BINARY"], "--disable-telemetry"]
    with running(command, folder, settings) as process:
        address = f"http://127.0.0.1:{ports[0]}"
        wait_until_ready(f"{address}/readyz", process)
        yield address


def missing_chroma() -> str:
    if find_spec("chromadb") is None:
        return "chromadb is not installed (requirements/chroma.txt)"
    return ""


@contextmanager
def chroma(folder: Path) -> Iterator[str]:
    """Yield the address of a server that is started here."""
    (port,) = free_ports(1)
    program = str(Path(sys.executable).parent / "chroma")
    command = [program, "run", "--path", str(folder), "--host", "127.0.0.1", "--port", str(port)]
    with running(command, folder, {"ANONYMIZED_TELEMETRY": "False"}) as process:
        wait_until_ready(f"http://127.0.0.1:{port}/api/v2/heartbeat", process)
        yield f"http://127.0.0.1:{port}"


@contextmanager
def running(
    command: list[str], folder: Path, environment: dict[str, str]
) -> Iterator[subprocess.Popen[bytes]]:
    with (folder / "store.log").open("wb") as log:
        process = subprocess.Popen(
            command,
            stdout=log,
            stderr=log,
            cwd=folder,
            env={"PATH": os.environ["PATH"], "HOME": str(folder), **environment},
        )
        try:
            yield process
        finally:
            process.kill()
            process.wait()
            shutil.rmtree(folder, ignore_errors=True)


def wait_until_ready(address: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline:
        assert process.poll() is None, "the store's server has ended"
        with suppress(OSError), urllib.request.urlopen(address, timeout=2):
            return
        time.sleep(0.1)
    sys.exit("the store's server is not ready")


def free_ports(count: int) -> list[int]:
    held = [socket.socket() for _ in range(count)]
    for one in held:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports


class Door:
    """Passes connections on to a server, or does not: `open`, `shut` (refused) or `silent` (taken,
    and never answered)."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        self._target = (parts.hostname or "127.0.0.1", parts.port or 80)
        self.state = "open"
        self._connections: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._listen, daemon=True).start()

    def become(self, state: str) -> None:
        """Also for connections that are open already."""
        self.state = state
        if state == "shut":
            for connection in self._connections:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
            self._connections.clear()

    def close(self) -> None:
        self.become("shut")
        self._listener.close()

    def _listen(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                if self.state == "shut":
                    client.close()
                    continue
                server = socket.create_connection(self._target)
                self._connections += [client, server]
                for one, other in ((client, server), (server, client)):
                    threading.Thread(target=self._pass, args=(one, other), daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                while self.state == "silent":
                    time.sleep(0.02)
                target.sendall(data)
        for one in (source, target):
            with suppress(OSError):
                one.close()
