"""The one outbound door: fetches a public page, and cannot be talked into fetching a private one.

A host name is resolved once, every address must be public, and the connection goes to an address
that was checked, so an answer that changes between the check and the connection changes nothing.
Redirects are followed by hand through the same check. No proxy, cookie, credential or environment
variable takes part.
"""

import ipaddress
import socket
import ssl
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import httpcore2
import httpx2

from .errors import BadFile, IngestError, TooLarge

MOST_REDIRECTS = 5
REDIRECTS = (301, 302, 303, 307, 308)
STEP_SECONDS = 5.0  # for connecting, and for any single read
# Public by the registry, but they lead into IPv4 networks that may be private.
TUNNELS = tuple(map(ipaddress.ip_network, ("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16")))

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class FetchRefused(BadFile):
    code = "url_refused"


class FetchFailed(IngestError):
    code = "url_failed"


@dataclass(frozen=True, slots=True)
class Fetched:
    url: str  # where it was found, after redirects
    content: bytes
    media_type: str


def is_public(address: Address) -> bool:
    mapped = getattr(address, "ipv4_mapped", None)
    if mapped is not None:
        return is_public(mapped)
    is_tunnel = any(address in network for network in TUNNELS if network.version == address.version)
    return address.is_global and not address.is_multicast and not is_tunnel


@dataclass
class GuardedBackend(httpcore2.NetworkBackend):
    """Connects to addresses that have been checked, and to nothing else."""

    is_allowed: Callable[[Address], bool]
    _plain: httpcore2.NetworkBackend = field(default_factory=httpcore2.SyncBackend)

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        addresses = _resolve(host, port)
        if not addresses or not all(map(self.is_allowed, addresses)):
            raise FetchRefused(f"{host} is not a public address.")
        return self._plain.connect_tcp(
            str(addresses[0]), port, timeout, local_address, socket_options
        )

    def connect_unix_socket(self, *args: Any, **kwargs: Any) -> httpcore2.NetworkStream:
        raise FetchRefused("Only http and https addresses are fetched.")


def _resolve(host: str, port: int) -> list[Address]:
    try:
        answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise FetchFailed(f"The name {host} cannot be resolved.") from None
    # A scope ("%eth0") marks a link-local address, which is not public anyway.
    return [ipaddress.ip_address(str(answer[4][0]).partition("%")[0]) for answer in answers]


@dataclass(frozen=True)
class Fetcher:
    """`is_allowed` is there for tests, which serve from this machine; no setting reaches it."""

    max_bytes: int
    seconds: float = 20.0
    is_allowed: Callable[[Address], bool] = is_public

    def fetch(self, url: str) -> Fetched:
        deadline = time.monotonic() + self.seconds
        backend = GuardedBackend(self.is_allowed)
        with httpcore2.ConnectionPool(
            ssl_context=ssl.create_default_context(), network_backend=backend
        ) as pool:
            for _ in range(MOST_REDIRECTS + 1):
                target = _checked(url)
                try:
                    answer = self._get(pool, target, deadline)
                except (httpcore2.NetworkError, httpcore2.ProtocolError) as error:
                    raise FetchFailed(f"{target.host} did not answer as it should.") from error
                except httpcore2.TimeoutException:
                    raise FetchFailed(f"{target.host} did not answer in time.") from None
                if isinstance(answer, Fetched):
                    return answer
                url = str(target.join(answer))
        raise FetchFailed(f"The address redirects more than {MOST_REDIRECTS} times.")

    def _get(
        self, pool: httpcore2.ConnectionPool, url: httpx2.URL, deadline: float
    ) -> Fetched | str:
        """The page, or where it has gone."""
        step = min(STEP_SECONDS, max(0.1, deadline - time.monotonic()))
        request = httpcore2.URL(
            scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
        )
        headers: dict[bytes | str, bytes | str] = {
            "Host": url.netloc.decode(),
            "User-Agent": "Ragsite",
            "Accept": "*/*",
            "Accept-Encoding": "identity",  # so that a small answer cannot become a large one
        }
        timeouts = dict.fromkeys(("connect", "read", "write", "pool"), step)
        with pool.stream(
            "GET", request, headers=headers, extensions={"timeout": timeouts}
        ) as response:
            fields = {name.lower(): value for name, value in response.headers}
            if response.status in REDIRECTS:
                return fields.get(b"location", b"").decode("latin-1")
            if response.status != 200:
                raise FetchFailed(f"{url.host} answered with status {response.status}.")
            content = self._body(response, deadline)
        media_type = fields.get(b"content-type", b"").decode("latin-1")
        return Fetched(str(url), content, media_type)

    def _body(self, response: httpcore2.Response, deadline: float) -> bytes:
        pieces: list[bytes] = []
        size = 0
        for piece in response.iter_stream():
            size += len(piece)
            if size > self.max_bytes:
                raise TooLarge(f"The page has more than {self.max_bytes:,} bytes.")
            if time.monotonic() > deadline:
                raise FetchFailed(f"The page did not come within {self.seconds:g} seconds.")
            pieces.append(piece)
        return b"".join(pieces)


def _checked(url: str) -> httpx2.URL:
    try:
        parsed = httpx2.URL(url)
    except (httpx2.InvalidURL, ValueError, TypeError):
        raise FetchRefused("This is not an address that can be fetched.") from None
    if parsed.scheme not in ("http", "https") or not parsed.host or "%" in parsed.host:
        raise FetchRefused("Only http and https addresses are fetched.")
    if parsed.userinfo:
        raise FetchRefused("An address with a user name or password is not fetched.")
    return parsed
