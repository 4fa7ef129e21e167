"""Fetch public web pages, and refuse private addresses (SSRF).

A host name is resolved once and every address must be public. The connection goes to an address
that was checked, and is checked again once it is established, so a DNS answer that changes in
between has no effect. Redirects go through the same checks, all within one deadline. No proxy,
cookie, credential or environment variable is used.
"""

import logging
import socket
import ssl
import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

import httpcore2
import httpx2

from documents.errors import IngestError, TooLarge
from documents.providers.deadline import DeadlineExceeded, DeadlineRunner, NoCapacity
from documents.providers.deadline_streams import DeadlineStream, time_until
from ragsite.access.addresses import Address, AddressPolicy, parse_address

from .web_addresses import STANDARD_PORTS, FetchRefused, checked_url

logger = logging.getLogger(__name__)

MAX_REDIRECTS = 5
REDIRECTS = (301, 302, 303, 307, 308)
MAX_TRIED_ADDRESSES = 4
CONNECT_SECONDS = 5.0  # for one address, so that another one can be tried

Resolver = Callable[[str, int], list[Address]]

# A name lookup cannot be interrupted, so each runs in a thread, up to a limit.
_lookups = DeadlineRunner(capacity=32)


class FetchFailed(IngestError):
    code = "url_failed"


@dataclass(frozen=True, slots=True)
class Fetched:
    url: str  # after redirects
    content: bytes
    media_type: str


def resolve(host: str, port: int) -> list[Address]:
    answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(parse_address(str(answer[4][0])) for answer in answers))


@dataclass
class GuardedBackend(httpcore2.NetworkBackend):
    """Connects only to addresses that have been checked."""

    policy: AddressPolicy
    deadline: float
    resolver: Resolver = resolve
    _plain: httpcore2.NetworkBackend = field(default_factory=httpcore2.SyncBackend)

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        addresses = self._resolved(host, port)
        for address in addresses:
            self._require(self.policy.refusal(address), host, address)
        stream = self._connected(addresses[:MAX_TRIED_ADDRESSES], port, socket_options)
        try:
            peer, local = _ends_of(stream)
            self._require(self.policy.peer_refusal(peer, local=local), host, peer)
        except BaseException:
            stream.close()
            raise
        logger.info("fetch.connected", extra={"host": host, "address": str(peer), "port": port})
        return DeadlineStream(stream, lambda: time_until(self.deadline))

    def connect_unix_socket(self, *args: Any, **kwargs: Any) -> httpcore2.NetworkStream:
        raise FetchRefused("Only http and https addresses are fetched.")

    def _resolved(self, host: str, port: int) -> list[Address]:
        try:
            found = _lookups.run(lambda: self.resolver(host, port), deadline=self.deadline)
        except DeadlineExceeded:
            raise httpcore2.ConnectTimeout("name lookup") from None
        except NoCapacity:
            raise FetchFailed("Too many name lookups are hanging.") from None
        except (OSError, UnicodeError, ValueError):
            found = []
        if not found:
            raise FetchFailed(f"The name {host} cannot be resolved.")
        return found

    def _connected(
        self, addresses: list[Address], port: int, socket_options: Iterable[Any] | None
    ) -> httpcore2.NetworkStream:
        """Connect to the first address that responds, because IPv6 or IPv4 may not work here."""
        for address in addresses[:-1]:
            seconds = min(CONNECT_SECONDS, time_until(self.deadline))
            try:
                return self._plain.connect_tcp(
                    str(address), port, seconds, socket_options=socket_options
                )
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                continue
        seconds = time_until(self.deadline)
        return self._plain.connect_tcp(
            str(addresses[-1]), port, seconds, socket_options=socket_options
        )

    def _require(self, refusal: str | None, host: str, address: Address) -> None:
        if refusal:
            fields = {"host": host, "address": str(address), "reason": refusal}
            logger.warning("fetch.refused", extra=fields)
            # Neither reason nor address: they would reveal our network to the caller.
            raise FetchRefused(f"{host} is not a public address.")


def _ends_of(stream: httpcore2.NetworkStream) -> tuple[Address, Address]:
    try:
        peer, local = (stream.get_extra_info(end)[0] for end in ("server_addr", "client_addr"))
    except OSError:  # the peer has already closed it
        raise httpcore2.ConnectError("closed") from None
    return parse_address(peer), parse_address(local)


@dataclass(frozen=True)
class Fetcher:
    """Fetches pages. `policy` and `resolver` exist for tests, which serve from this machine; no
    setting changes them."""

    max_bytes: int
    seconds: float = 20.0  # for everything: lookups, connections, redirects and the page
    ports: Collection[int] = frozenset(STANDARD_PORTS.values())
    policy: AddressPolicy = field(default_factory=AddressPolicy)
    resolver: Resolver = resolve

    def fetch(self, url: str) -> Fetched:
        deadline = time.monotonic() + self.seconds
        backend = GuardedBackend(self.policy, deadline, self.resolver)
        with httpcore2.ConnectionPool(
            ssl_context=ssl.create_default_context(), network_backend=backend
        ) as pool:
            for _ in range(MAX_REDIRECTS + 1):
                target = checked_url(url, ports=self.ports)
                answer = self._answer(pool, target, deadline)
                if isinstance(answer, Fetched):
                    return answer
                url = answer
        raise FetchFailed(f"The address redirects more than {MAX_REDIRECTS} times.")

    def _answer(
        self, pool: httpcore2.ConnectionPool, url: httpx2.URL, deadline: float
    ) -> Fetched | str:
        try:
            return self._get(pool, url, deadline)
        except (httpcore2.NetworkError, httpcore2.ProtocolError) as error:
            raise FetchFailed(f"{url.host} did not answer as it should.") from error
        except httpcore2.TimeoutException:
            sentence = f"{url.host} did not answer within {self.seconds:g} seconds."
            raise FetchFailed(sentence) from None

    def _get(
        self, pool: httpcore2.ConnectionPool, url: httpx2.URL, deadline: float
    ) -> Fetched | str:
        """Return the page, or the URL it redirects to."""
        request = httpcore2.URL(
            scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
        )
        headers: dict[bytes | str, bytes | str] = {
            "Host": url.netloc.decode(),
            "User-Agent": "Ragsite",
            "Accept": "*/*",
            "Accept-Encoding": "identity",  # no decompression bombs
        }
        timeouts = {"timeout": {"pool": time_until(deadline)}}
        with pool.stream("GET", request, headers=headers, extensions=timeouts) as response:
            fields = {name.lower(): value.decode("latin-1") for name, value in response.headers}
            if response.status in REDIRECTS:
                return _redirect_target(url, fields.get(b"location", ""))
            if response.status != 200:
                raise FetchFailed(f"{url.host} answered with status {response.status}.")
            if fields.get(b"content-encoding", "identity").strip().lower() not in ("", "identity"):
                raise FetchFailed(f"{url.host} sends only compressed pages, which are not read.")
            content = self._body(response, deadline)
        return Fetched(str(url), content, fields.get(b"content-type", ""))

    def _body(self, response: httpcore2.Response, deadline: float) -> bytes:
        content = bytearray()  # not a list, because a page may arrive in pieces of one byte
        for piece in response.iter_stream():
            content += piece
            if len(content) > self.max_bytes:
                raise TooLarge(f"The page has more than {self.max_bytes:,} bytes.")
            time_until(deadline)
        return bytes(content)


def _redirect_target(url: httpx2.URL, location: str) -> str:
    if not location:
        raise FetchFailed(f"{url.host} redirects to nowhere.")
    try:
        return str(url.join(location))
    except (httpx2.InvalidURL, ValueError):
        raise FetchRefused("The redirect is not an address that can be fetched.") from None
