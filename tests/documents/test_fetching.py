"""The outbound door, tried against a real server on this machine that misbehaves on purpose."""

import gzip
import ipaddress
import logging
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from documents.errors import TooLarge
from documents.intake.fetching import Fetcher, FetchFailed
from documents.intake.web_addresses import FetchRefused
from ragsite.access.addresses import Address, AddressPolicy

LIMIT = 100_000


class Handler(BaseHTTPRequestHandler):
    seen: list[tuple[str, str]] = []

    def do_GET(self) -> None:
        self.seen.append((self.path, self.headers.get("Host", "")))
        getattr(self, self.path.strip("/").split("?")[0].replace("-", "_"), self.missing)()

    def answer(self, body: bytes, *, status: int = 200, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "text/html", **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def page(self) -> None:
        self.answer(b"<h1>Fog</h1>", Content_Type="text/html; charset=utf-8")

    def moved(self) -> None:
        self.answer(b"", status=302, Location="/page")

    def around(self) -> None:
        self.answer(b"", status=302, Location="/around")

    def inside(self) -> None:
        self.answer(b"", status=302, Location="http://169.254.169.254/latest/meta-data/")

    def to_file(self) -> None:
        self.answer(b"", status=302, Location="file:///etc/passwd")

    def huge(self) -> None:
        self.answer(b"x" * (LIMIT + 1))

    def drip(self) -> None:
        self.answer(b"")
        self._drip(b"x")

    def drip_headers(self) -> None:
        self.wfile.write(b"HTTP/1.1 200 OK\r\n")
        self._drip(b"X-Drip: 1\r\n")

    def drip_hints(self) -> None:
        self._drip(b"HTTP/1.1 103 Early Hints\r\n\r\n")

    def drip_moves(self) -> None:
        time.sleep(0.7)
        self.answer(b"", status=302, Location="/drip-moves")

    def long_headers(self) -> None:
        self.wfile.write(b"HTTP/1.1 200 OK\r\n" + b"X-Long: " + b"x" * 1_000_000 + b"\r\n\r\n")

    def many_headers(self) -> None:
        self.wfile.write(b"HTTP/1.1 200 OK\r\n" + b"X-Many: 1\r\n" * 100_000 + b"\r\n")

    def zipped(self) -> None:
        self.answer(gzip.compress(b"0" * 10_000_000), Content_Encoding="gzip")

    def nowhere(self) -> None:
        self.answer(b"", status=302)

    def to_nonsense(self) -> None:
        self.answer(b"", status=302, Location="http://x:port/")

    def to_other_port(self) -> None:
        self.answer(b"", status=302, Location="http://127.0.0.1:22/")

    def to_user(self) -> None:
        self.answer(b"", status=302, Location="http://name:word@93.184.216.34/")

    def _drip(self, drop: bytes) -> None:
        """A minute long, unless the other side leaves."""
        with suppress(OSError):
            for _ in range(300):
                self.wfile.write(drop)
                self.wfile.flush()
                time.sleep(0.2)

    def missing(self) -> None:
        self.answer(b"no", status=404)

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


ANY_PORT = range(1, 65536)
LOOPBACK_TOO = AddressPolicy(allowed=(ipaddress.ip_network("127.0.0.1/32"),))
FETCHER = Fetcher(max_bytes=LIMIT, seconds=4, ports=ANY_PORT, policy=LOOPBACK_TOO)


def answering(*addresses: str) -> Any:
    return lambda host, port: [ipaddress.ip_address(address) for address in addresses]


def test_a_page_comes_with_its_type_and_the_address_it_was_found_at(site: str):
    fetched = FETCHER.fetch(f"{site}/moved?x=1#part")
    assert fetched.content == b"<h1>Fog</h1>"
    assert fetched.media_type == "text/html; charset=utf-8"
    assert fetched.url == f"{site}/page"


@pytest.mark.parametrize(
    "url",
    [
        "{site}/page",
        "http://localhost:{port}/page",
        "http://127.1:{port}/page",
        "http://2130706433:{port}/page",
        "http://0x7f000001:{port}/page",
        "http://[::ffff:127.0.0.1]:{port}/page",
    ],
)
def test_this_machine_is_never_fetched_by_any_of_its_names(site: str, url: str):
    Handler.seen.clear()
    port = site.rpartition(":")[2]
    with pytest.raises((FetchRefused, FetchFailed)):
        Fetcher(max_bytes=LIMIT, seconds=2, ports=ANY_PORT).fetch(url.format(site=site, port=port))
    assert Handler.seen == []


@pytest.mark.parametrize(
    "answer",
    [
        ["127.0.0.1"],
        ["169.254.169.254"],
        ["192.0.0.192"],
        ["fec0::1"],
        ["64:ff9b::10.0.0.1"],
        ["93.184.216.34", "10.0.0.1"],  # one bad address spoils the name
    ],
)
@pytest.mark.parametrize("url", ["http://a.example/", "https://a.example./", "http://münchen.de/"])
def test_a_name_that_resolves_to_what_is_not_public_is_refused_and_logged(
    url: str, answer: list[str], caplog: pytest.LogCaptureFixture
):
    fetcher = Fetcher(max_bytes=LIMIT, resolver=answering(*answer))
    with (
        caplog.at_level(logging.INFO, logger="documents.intake.fetching"),
        pytest.raises(FetchRefused, match="not a public address") as caught,
    ):
        fetcher.fetch(f"{url}?token=secret")
    (record,) = caplog.records
    assert record.getMessage() == "fetch.refused"
    assert record.__dict__["address"] == str(ipaddress.ip_address(answer[-1]))
    assert "secret" not in str(vars(record))
    assert answer[-1] not in str(caught.value)  # a caller learns nothing of our network


@pytest.mark.parametrize("url", ["http://127.0.0.1./", "http://127。0。0。1/", "http://[::1]/"])
def test_an_address_in_any_spelling_is_judged(url: str):
    with pytest.raises(FetchRefused, match="not a public address"):
        Fetcher(max_bytes=LIMIT).fetch(url)


@pytest.mark.parametrize(
    ("path", "error", "words"),
    [
        ("around", FetchFailed, "redirects more than"),
        ("inside", FetchRefused, "not a public address"),
        ("to-file", FetchRefused, "Only http"),
        ("to-user", FetchRefused, "user name or password"),
        ("to-nonsense", FetchRefused, "not an address"),
        ("nowhere", FetchFailed, "redirects to nowhere"),
        ("huge", TooLarge, "more than 100,000 bytes"),
        ("zipped", FetchFailed, "compressed"),
        ("long-headers", FetchFailed, "as it should"),
        ("many-headers", FetchFailed, "as it should"),
        ("drip", FetchFailed, "within 4 seconds"),
        ("drip-headers", FetchFailed, "within 4 seconds"),
        ("drip-hints", FetchFailed, "within 4 seconds"),
        ("drip-moves", FetchFailed, "within 4 seconds"),
        ("missing", FetchFailed, "status 404"),
    ],
)
def test_a_site_that_misbehaves_gets_nowhere(site: str, path: str, error: type, words: str):
    started = time.monotonic()
    with pytest.raises(error, match=words):
        FETCHER.fetch(f"{site}/{path}")
    assert time.monotonic() - started < 20  # the drips last a minute


def test_a_redirect_to_another_port_is_judged_like_the_first_address(site: str):
    port = int(site.rpartition(":")[2])
    fetcher = Fetcher(max_bytes=LIMIT, seconds=5, ports={port}, policy=LOOPBACK_TOO)
    assert fetcher.fetch(f"{site}/moved").content
    with pytest.raises(FetchRefused, match="ports"):
        fetcher.fetch(f"{site}/to-other-port")


def test_a_name_lookup_that_hangs_is_left_at_the_deadline():
    ended = threading.Event()

    def hanging(host: str, port: int) -> list[Address]:
        ended.wait(60)
        return []

    started = time.monotonic()
    with pytest.raises(FetchFailed, match=r"within 0\.3 seconds"):
        Fetcher(max_bytes=LIMIT, seconds=0.3, resolver=hanging).fetch("http://slow.example/")
    assert time.monotonic() - started < 30
    ended.set()


def test_a_connection_is_logged_with_host_and_address_and_nothing_more(
    site: str, caplog: pytest.LogCaptureFixture
):
    with caplog.at_level(logging.INFO, logger="documents.intake.fetching"):
        FETCHER.fetch(f"{site}/page?token=secret#part")
    (record,) = [r for r in caplog.records if r.getMessage() == "fetch.connected"]
    assert record.__dict__["host"] == record.__dict__["address"] == "127.0.0.1"
    assert record.__dict__["port"] == int(site.rpartition(":")[2])
    assert "secret" not in str(vars(record))


def test_the_next_address_is_tried_when_the_first_does_not_answer(site: str):
    port = site.rpartition(":")[2]
    policy = AddressPolicy(allowed=(ipaddress.ip_network("127.0.0.0/30"),))
    fetcher = Fetcher(
        max_bytes=LIMIT,
        seconds=10,
        ports=ANY_PORT,
        policy=policy,
        resolver=answering("127.0.0.2", "127.0.0.1"),  # nobody listens on the first
    )
    assert fetcher.fetch(f"http://two.example:{port}/page").content


def test_proxies_of_the_environment_are_not_used(site: str, monkeypatch: pytest.MonkeyPatch):
    for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert FETCHER.fetch(f"{site}/page").content


def test_a_name_that_changes_its_mind_is_asked_only_once(site: str):
    """DNS rebinding: public when checked, private when connected."""
    asked: list[str] = []
    port = int(site.rpartition(":")[2])

    def changing(host: str, port: int) -> list[Address]:
        asked.append(host)
        return answering("127.0.0.2" if len(asked) == 1 else "127.0.0.1")(host, port)

    Handler.seen.clear()
    policy = AddressPolicy(allowed=(ipaddress.ip_network("127.0.0.2/32"),))  # nobody listens there
    fetcher = Fetcher(max_bytes=LIMIT, seconds=5, ports=ANY_PORT, policy=policy, resolver=changing)
    with pytest.raises(FetchFailed):
        fetcher.fetch(f"http://rebind.example:{port}/page")
    assert asked == ["rebind.example"]
    assert Handler.seen == []


def test_the_peer_is_judged_again_once_connected(site: str, monkeypatch: pytest.MonkeyPatch):
    """However the connection came to lead elsewhere: nothing is sent over it."""
    port = int(site.rpartition(":")[2])
    connect = socket.create_connection
    monkeypatch.setattr(
        socket,
        "create_connection",
        lambda address, *args, **kw: connect(("127.0.0.1", port), *args, **kw),
    )
    Handler.seen.clear()
    fetcher = Fetcher(max_bytes=LIMIT, seconds=5, resolver=answering("93.184.216.34"))
    with pytest.raises(FetchRefused, match="not a public address"):
        fetcher.fetch("http://elsewhere.example/page")
    assert Handler.seen == []


@pytest.fixture(scope="module")
def secure_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, Path]]:
    """Port and certificate of a server whose certificate nobody has signed."""
    folder = tmp_path_factory.mktemp("tls")
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
            *("-nodes", "-keyout", str(key), "-out", str(certificate), "-days", "2"),
            *("-subj", "/CN=safe.example", "-addext", "subjectAltName=DNS:safe.example"),
        ],
        check=True,
        capture_output=True,
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port, certificate
    server.shutdown()


@pytest.mark.parametrize(
    ("host", "is_trusted", "is_fetched"),
    [("safe.example", True, True), ("other.example", True, False), ("safe.example", False, False)],
)
def test_certificates_are_verified(
    host: str,
    is_trusted: bool,
    is_fetched: bool,
    secure_site: tuple[int, Path],
    monkeypatch: pytest.MonkeyPatch,
):
    port, certificate = secure_site
    if is_trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    fetcher = Fetcher(
        max_bytes=LIMIT,
        seconds=10,
        ports=ANY_PORT,
        policy=LOOPBACK_TOO,
        resolver=answering("127.0.0.1"),
    )
    Handler.seen.clear()
    if is_fetched:
        assert fetcher.fetch(f"https://{host}:{port}/page").content
    else:
        with pytest.raises(FetchFailed, match="as it should"):
            fetcher.fetch(f"https://{host}:{port}/page")
        assert Handler.seen == []
