"""HTTP by hand, for clients that misbehave: they do not read, or do not finish what they send."""

import json
import socket
from dataclasses import dataclass
from typing import Any

from .service import until


@dataclass(frozen=True)
class RawAnswer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def error(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.body)["error"]
        return found


class RawClient:
    """One connection."""

    def __init__(self, port: int, *, receive_buffer: int = 0) -> None:
        self.socket = socket.socket()
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(30)
        self.socket.connect(("127.0.0.1", port))

    def __enter__(self) -> "RawClient":
        return self

    def __exit__(self, *error: object) -> None:
        self.socket.close()

    def send_headers(self, method: str, path: str, *, key: str = "", **headers: str) -> None:
        lines = [f"{method} {path} HTTP/1.1", "Host: localhost"]
        lines += [f"Authorization: Bearer {key}"] if key else []
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        self.send("\r\n".join([*lines, "", ""]).encode())

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def read_until(self, mark: bytes) -> bytes:
        found = b""
        while mark not in found:
            block = self.socket.recv(1)
            assert block, f"closed after {found!r}"
            found += block
        return found

    def answer(self) -> RawAnswer:
        head = self.read_until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        pairs = (line.partition(":") for line in head[1:] if line)
        headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
        body = b""
        while len(body) < int(headers.get("content-length", "0")):
            body += self.socket.recv(65536)
        return RawAnswer(int(head[0].split()[1]), headers, body)

    def status(self) -> int:
        """Of an answer whose body is left unread."""
        return int(self.read_until(b"\r\n").split()[1])

    def is_closed_by_server(self) -> bool:
        """Looked up with the kernel: nothing is read that would make room for more."""
        # struct tcp_info begins with the state; 1 is ESTABLISHED.
        return self.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] != 1

    def wait_until_closed(self, *, seconds: float) -> None:
        until(self.is_closed_by_server, seconds=seconds)
