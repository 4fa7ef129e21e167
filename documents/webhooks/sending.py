"""One POST to an endpoint, through the same guarded connections that fetch pages."""

import ssl
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import httpcore2
import httpx2

from documents.errors import IngestError
from documents.intake.fetching import GuardedBackend, Resolver, resolve
from documents.intake.web_addresses import FetchRefused, checked_url
from documents.providers.deadline_streams import time_until
from ragsite.access.addresses import AddressPolicy

KEPT_BYTES = 1000  # of the response, which help to find the error
MAX_RETRY_AFTER = 24 * 3600


@dataclass(frozen=True, slots=True)
class SendOutcome:
    """The result of an attempt: a status, or an error if there was no response."""

    status: int | None = None
    body: str = ""
    error_code: str = ""
    error_message: str = ""
    retry_after: int = 0  # seconds, if the receiver sent Retry-After
    duration_ms: float = 0.0

    @property
    def is_accepted(self) -> bool:
        return self.status is not None and 200 <= self.status < 300

    @property
    def is_gone(self) -> bool:
        """Whether the receiver wants no more events."""
        return self.status == 410


@dataclass(frozen=True)
class Sender:
    """`policy` and `resolver` are the fetcher's; redirects are never followed."""

    seconds: float = 10.0  # for everything: lookup, connection, TLS and the response
    ports: Collection[int] = frozenset((80, 443))
    allow_http: bool = False
    allow_local_names: bool = False
    policy: AddressPolicy = field(default_factory=AddressPolicy)
    resolver: Resolver = resolve

    def check(self, url: str) -> httpx2.URL:
        """Return the parsed address. Raises FetchRefused if it must not be sent to."""
        checked = checked_url(url, ports=self.ports, allow_local_names=self.allow_local_names)
        if checked.scheme != "https" and not self.allow_http:
            raise FetchRefused("Webhooks are sent to https addresses only.")
        return checked

    def post(
        self, url: str, body: bytes, headers: Mapping[bytes | str, bytes | str]
    ) -> SendOutcome:
        started = time.monotonic()
        outcome = self._attempt(url, body, headers, started + self.seconds)
        took = round((time.monotonic() - started) * 1000, 1)
        return SendOutcome(
            outcome.status,
            outcome.body,
            outcome.error_code,
            outcome.error_message,
            outcome.retry_after,
            took,
        )

    def _attempt(
        self, url: str, body: bytes, headers: Mapping[bytes | str, bytes | str], deadline: float
    ) -> SendOutcome:
        backend = GuardedBackend(self.policy, deadline, self.resolver)
        try:
            target = self.check(url)
            with httpcore2.ConnectionPool(
                ssl_context=ssl.create_default_context(), network_backend=backend
            ) as pool:
                return self._send(pool, target, body, headers, deadline)
        except IngestError as error:  # refused, or the name does not resolve
            return SendOutcome(error_code=error.code, error_message=str(error))
        except httpcore2.TimeoutException:
            sentence = f"No answer within {self.seconds:g} seconds."
            return SendOutcome(error_code="timeout", error_message=sentence)
        except (httpcore2.NetworkError, httpcore2.ProtocolError) as error:
            sentence = f"The connection failed ({type(error).__name__})."
            return SendOutcome(error_code="connection_failed", error_message=sentence)

    def _send(
        self,
        pool: httpcore2.ConnectionPool,
        url: httpx2.URL,
        body: bytes,
        headers: Mapping[bytes | str, bytes | str],
        deadline: float,
    ) -> SendOutcome:
        sent: dict[bytes | str, bytes | str] = {
            "Host": url.netloc.decode(),
            "User-Agent": "Ragsite-Webhooks",
            "Content-Type": "application/json",
            "Content-Length": str(len(body)),
            "Accept-Encoding": "identity",
            **headers,
        }
        request = httpcore2.URL(
            scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
        )
        timeouts = {"timeout": {"pool": time_until(deadline)}}
        with pool.stream(
            "POST", request, headers=sent, content=body, extensions=timeouts
        ) as response:
            fields = {name.lower(): value.decode("latin-1") for name, value in response.headers}
            return SendOutcome(
                response.status,
                _beginning(response),
                retry_after=_seconds(fields.get(b"retry-after", "")),
            )


def _beginning(response: httpcore2.Response) -> str:
    """Read the first bytes of the response; the rest is not read."""
    kept = bytearray()
    try:
        for piece in response.iter_stream():
            kept += piece
            if len(kept) >= KEPT_BYTES:
                break
    except (httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.TimeoutException):
        pass
    return kept[:KEPT_BYTES].decode("utf-8", "replace").replace("\x00", "�")


def _seconds(retry_after: str) -> int:
    return min(int(retry_after), MAX_RETRY_AFTER) if retry_after.strip().isdecimal() else 0
