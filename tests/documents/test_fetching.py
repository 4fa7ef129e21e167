"""The outbound door, tried against a real server on this machine that misbehaves on purpose."""

import ipaddress
import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from documents.errors import TooLarge
from documents.fetching import Fetcher, FetchFailed, FetchRefused, is_public

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
        for _ in range(50):
            self.wfile.write(b"x")
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


def loopback_too(address: Any) -> bool:
    return is_public(address) or address == ipaddress.ip_address("127.0.0.1")


FETCHER = Fetcher(max_bytes=LIMIT, seconds=2, is_allowed=loopback_too)


def test_a_page_comes_with_its_type_and_the_address_it_was_found_at(site: str):
    fetched = FETCHER.fetch(f"{site}/moved?x=1#part")
    assert fetched.content == b"<h1>Fog</h1>"
    assert fetched.media_type == "text/html; charset=utf-8"
    assert fetched.url == f"{site}/page"


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "255.255.255.255",
        "224.0.0.1",
        "::1",
        "::",
        "fe80::1",
        "fc00::1",
        "ff02::1",
        "::ffff:127.0.0.1",
        "64:ff9b::7f00:1",
        "2002:7f00:1::1",
    ],
)
def test_private_addresses_are_not_public(address: str):
    assert not is_public(ipaddress.ip_address(address))


def test_public_addresses_are():
    assert is_public(ipaddress.ip_address("93.184.216.34"))
    assert is_public(ipaddress.ip_address("2606:2800:220:1:248:1893:25c8:1946"))


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
        Fetcher(max_bytes=LIMIT, seconds=2).fetch(url.format(site=site, port=port))
    assert Handler.seen == []


@pytest.mark.parametrize(
    "url",
    [
        "ftp://x/",
        "file:///etc/passwd",
        "gopher://x",
        "http://",
        "",
        "x",
        "http://a:b@x/",
        "http://[",
    ],
)
def test_what_is_no_web_address_is_refused(url: str):
    with pytest.raises(FetchRefused):
        FETCHER.fetch(url)


@pytest.mark.parametrize(
    ("path", "error", "words"),
    [
        ("around", FetchFailed, "redirects more than"),
        ("inside", FetchRefused, "not a public address"),
        ("to-file", FetchRefused, "Only http"),
        ("huge", TooLarge, "more than 100,000 bytes"),
        ("drip", FetchFailed, "within 2 seconds"),
        ("missing", FetchFailed, "status 404"),
    ],
)
def test_a_site_that_misbehaves_gets_nowhere(site: str, path: str, error: type, words: str):
    started = time.monotonic()
    with pytest.raises(error, match=words):
        FETCHER.fetch(f"{site}/{path}")
    assert time.monotonic() - started < 10


def test_a_name_that_changes_its_mind_is_asked_only_once(
    site: str, monkeypatch: pytest.MonkeyPatch
):
    """DNS rebinding: public when checked, private when connected."""
    asked: list[str] = []
    real = socket.getaddrinfo
    port = int(site.rpartition(":")[2])

    def changing(host: str, *args: Any, **kwargs: Any) -> Any:
        if host != "rebind.example":
            return real(host, *args, **kwargs)
        asked.append(host)
        address = "127.0.0.2" if len(asked) == 1 else "127.0.0.1"  # nobody listens on the first
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    monkeypatch.setattr(socket, "getaddrinfo", changing)
    Handler.seen.clear()
    fetcher = Fetcher(max_bytes=LIMIT, seconds=1, is_allowed=lambda a: str(a) == "127.0.0.2")
    with pytest.raises(FetchFailed):
        fetcher.fetch(f"http://rebind.example:{port}/page")
    assert asked == ["rebind.example"]
    assert Handler.seen == []
