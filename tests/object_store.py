"""SeaweedFS on this machine: a real S3-compatible server, and a proxy before it that fails."""

import json
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

ACCESS_KEY, SECRET_KEY, BUCKET = "AKIARAGSITE", "a-secret-of-the-tests", "originals"
PROGRAM = Path(sys.executable).parent / "weed"
READY_SECONDS = 120


@contextmanager
def object_store(folder: Path) -> Iterator[str]:
    """Start the server and make the bucket; yields its address."""
    identity = {
        "name": "tests",
        "credentials": [{"accessKey": ACCESS_KEY, "secretKey": SECRET_KEY}],
        "actions": ["Admin", "Read", "Write", "List"],
    }
    config = folder / "s3.json"
    config.write_text(json.dumps({"identities": [identity]}))
    ports = _free_ports(4)
    roles = dict(zip(("master", "volume", "filer", "s3"), ports, strict=True))
    command = [
        str(PROGRAM), "server", f"-dir={folder}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1",
        *(f"-{role}.port={port}" for role, port in roles.items()),
        *(f"-{role}.port.grpc={port + 10_000}" for role, port in roles.items()),
        "-filer", "-s3", f"-s3.config={config}", "-s3.iam=false", "-s3.port.iceberg=0",
        "-s3.port.lance=0", "-master.volumeSizeLimitMB=64", "-volume.max=0",
        "-master.telemetry=false",
    ]  # fmt: skip
    log = (folder / "weed.log").open("wb")
    server = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)
    address = f"http://127.0.0.1:{roles['s3']}"
    try:
        _wait_until_writable(address, server)
        yield address
    finally:
        server.kill()
        server.wait()
        log.close()


def _free_ports(count: int) -> list[int]:
    """Ports whose companion for gRPC, 10,000 higher, is free as well."""
    found: list[int] = []
    held = []
    while len(found) < count:
        one, other = socket.socket(), socket.socket()
        held += [one, other]
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1] % 20_000 + 20_000
        try:
            other.bind(("127.0.0.1", port))
            probe = socket.socket()
            held.append(probe)
            probe.bind(("127.0.0.1", port + 10_000))
        except OSError:
            continue
        found.append(port)
    for each in held:
        each.close()
    return found


def _wait_until_writable(address: str, server: "subprocess.Popen[bytes]") -> None:
    import boto3
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError, ClientError

    client = boto3.client(
        "s3",
        endpoint_url=address,
        region_name="us-east-1",
        aws_access_key_id=ACCESS_KEY,
        aws_secret_access_key=SECRET_KEY,
        config=Config(
            s3={"addressing_style": "path"}, retries={"total_max_attempts": 1}, connect_timeout=5
        ),
    )
    deadline = time.monotonic() + READY_SECONDS
    while True:
        assert server.poll() is None, "SeaweedFS ended"
        try:
            if BUCKET not in {bucket["Name"] for bucket in client.list_buckets()["Buckets"]}:
                client.create_bucket(Bucket=BUCKET)
            client.put_object(Bucket=BUCKET, Key="probe", Body=b"x")
            client.delete_object(Bucket=BUCKET, Key="probe")
            return
        except (BotoCoreError, ClientError):
            assert time.monotonic() < deadline, "SeaweedFS did not start"
            time.sleep(0.3)


class FaultyProxy(BaseHTTPRequestHandler):
    """Passes requests on, but fails the next ones as `faults` says, in order: "500", "503", "404",
    "cut" (half of the body), "flip" (a bit of what is sent) or "drop" (no response)."""

    protocol_version = "HTTP/1.1"
    target: ClassVar[str] = ""
    faults: ClassVar[list[str]] = []
    seen: ClassVar[list[str]] = []
    statuses: ClassVar[list[int]] = []

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.seen.append(self.command)
        fault = self.faults.pop(0) if self.faults else ""
        if fault == "drop":
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        if fault in ("500", "503", "404"):
            code = "NoSuchKey" if fault == "404" else "SlowDown"
            self._reply(int(fault), {}, f"<Error><Code>{code}</Code></Error>".encode())
            return
        if fault == "flip" and body:
            body = bytes([body[0] ^ 1]) + body[1:]
        upstream = HTTPConnection(self.target, timeout=60)
        upstream.request(self.command, self.path, body=body, headers=dict(self.headers))
        response = upstream.getresponse()
        self.statuses.append(response.status)
        self._reply(
            response.status, dict(response.getheaders()), response.read(), cut=fault == "cut"
        )
        upstream.close()

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _serve

    def _reply(
        self, status: int, headers: dict[str, str], body: bytes, *, cut: bool = False
    ) -> None:
        skipped = {"transfer-encoding", "connection", "content-length"}
        length = headers.get("Content-Length", str(len(body)))
        self.send_response(status)
        for name, value in headers.items():
            if name.lower() not in skipped:
                self.send_header(name, value)
        self.send_header("Content-Length", length if self.command == "HEAD" else str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body[: len(body) // 2] if cut else body)
        if cut:
            self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def faulty_proxy(address: str) -> Iterator[str]:
    FaultyProxy.target = address.removeprefix("http://")
    server = ThreadingHTTPServer(("127.0.0.1", 0), FaultyProxy)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def download(url: str) -> tuple[int, bytes, dict[str, str]]:
    """Fetch as a client that has no credentials."""
    try:
        with urllib.request.urlopen(url, timeout=60) as response:
            return response.status, response.read(), dict(response.headers)
    except urllib.error.HTTPError as error:
        return error.code, error.read(), dict(error.headers)
