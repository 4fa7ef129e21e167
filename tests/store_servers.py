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
from itertools import cycle, islice
from pathlib import Path
from urllib.parse import urlsplit

from ragsite.postgres.account import Account

READY_SECONDS = 60


def missing_qdrant_client() -> str:
    if find_spec("qdrant_client") is None:
        return "qdrant-client is not installed (requirements/qdrant.txt)"
    return ""


def missing_qdrant() -> str:
    """Why there is no Qdrant here; "" if there is one."""
    if reason := missing_qdrant_client():
        return reason
    if not (os.environ.get("QDRANT_URL") or os.environ.get("QDRANT_BINARY")):
        return "neither QDRANT_URL nor QDRANT_BINARY says where Qdrant is"
    return ""


def missing_qdrant_binary() -> str:
    """Why no Qdrant can be started here; "" if one can."""
    if reason := missing_qdrant_client():
        return reason
    return "" if os.environ.get("QDRANT_BINARY") else "QDRANT_BINARY names no Qdrant to start"


@contextmanager
def qdrant(folder: Path) -> Iterator[str]:
    """Yield the address of a running server."""
    if address := os.environ.get("QDRANT_URL"):
        yield address
        return
    node = QdrantNode(folder / "node")
    node.start()
    try:
        yield node.address
    finally:
        node.kill()
        shutil.rmtree(folder, ignore_errors=True)


class QdrantNode:
    """A server that is started here by QDRANT_BINARY, as an unprivileged user; `first` is another
    node, whose cluster it joins."""

    def __init__(
        self, folder: Path, *, in_cluster: bool = False, first: "QdrantNode | None" = None
    ) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        self._account = Account.for_data(folder)
        self._account.own(folder)
        self._account = self._account.with_access_to(os.environ["QDRANT_BINARY"], folder)
        http, grpc, self._peer_port = free_ports(3)
        self.address, self._peer = f"http://127.0.0.1:{http}", f"http://127.0.0.1:{self._peer_port}"
        self._environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "QDRANT__SERVICE__HOST": "127.0.0.1",
            "QDRANT__SERVICE__HTTP_PORT": str(http),
            "QDRANT__SERVICE__GRPC_PORT": str(grpc),
            "QDRANT__STORAGE__STORAGE_PATH": str(folder / "storage"),
            "QDRANT__STORAGE__SNAPSHOTS_PATH": str(folder / "snapshots"),
            "QDRANT__TELEMETRY_DISABLED": "true",
        }
        self._arguments: list[str] = []
        if in_cluster:
            self._environment |= {
                "QDRANT__CLUSTER__ENABLED": "true",
                "QDRANT__CLUSTER__P2P__PORT": str(self._peer_port),
            }
            self._arguments = ["--uri", self._peer]
            if first is not None:
                self._arguments += ["--bootstrap", first._peer]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [os.environ["QDRANT_BINARY"], "--disable-telemetry", *self._arguments]
        with (self.folder / "store.log").open("ab") as log:
            self._process = subprocess.Popen(
                command,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                env=self._environment,
                preexec_fn=self._account.become,
            )
        wait_until_ready(f"{self.address}/readyz", self._process)

    def kill(self) -> None:
        """With SIGKILL."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def send(self, signal: int) -> None:
        assert self._process is not None
        self._process.send_signal(signal)

    def replace_disk(self, copy: Path | None) -> None:
        """While it is not running: by this copy, or by an empty one."""
        storage = self.folder / "storage"
        shutil.rmtree(storage)
        if copy is not None:
            shutil.copytree(copy, storage)
            self._account.own(storage)

    def copy_disk(self, place: Path) -> Path:
        shutil.copytree(self.folder / "storage", place)
        return place


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
    and never answered). Of several servers it takes them in turn, without those that are down."""

    def __init__(self, *addresses: str) -> None:
        parts = [urlsplit(address) for address in addresses]
        self._targets = cycle([(part.hostname or "127.0.0.1", part.port or 80) for part in parts])
        self._count = len(parts)
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
                server = self._connect()
                if server is None:
                    client.close()
                    continue
                self._connections += [client, server]
                for one, other in ((client, server), (server, client)):
                    threading.Thread(target=self._pass, args=(one, other), daemon=True).start()

    def _connect(self) -> socket.socket | None:
        for target in islice(self._targets, self._count):
            with suppress(OSError):
                server = socket.create_connection(target, timeout=5)
                server.settimeout(None)
                return server
        return None

    def _pass(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                while self.state == "silent":
                    time.sleep(0.02)
                target.sendall(data)
        for one in (source, target):
            with suppress(OSError):
                one.close()
