"""One JSON call to a provider's API within one deadline, including connecting and slow responses.

Unlike documents/intake/fetching.py it allows private addresses, because the operator chose them.
Redirects are not followed, proxy environment variables are ignored, and errors contain neither the
key nor the provider's messages.
"""

import json
import math
import re
import ssl
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cached_property
from typing import Any

import httpcore2
import httpx2

from documents.providers import observing
from documents.providers.deadline import DeadlineExceeded, DeadlineRunner, NoCapacity
from documents.providers.deadline_streams import DeadlineStream, time_until
from documents.providers.errors import (
    ProviderBadResponse,
    ProviderBrokeOff,
    ProviderFailed,
    ProviderRateLimited,
    ProviderRefused,
    ProviderTimeout,
    ProviderUnavailable,
)

Headers = dict[bytes | str, bytes | str]
RETRYABLE_STATUSES = (408, 425, 429, 500, 502, 503, 504, 529)


_local = threading.local()  # .deadline: of this thread's current call


def _time_left() -> float:
    return time_until(float(_local.deadline))


class _DeadlineBackend(httpcore2.NetworkBackend):
    def __init__(self) -> None:
        self._plain = httpcore2.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        stream = self._plain.connect_tcp(host, port, _time_left(), local_address, socket_options)
        return DeadlineStream(stream, _time_left)


class Provider:
    """`url` is the base of the API; the part of `path` that `url` already ends with is not
    repeated.

    The key is sent as `Authorization: Bearer`, or unchanged in `key_header`. `headers` are sent
    with every call.
    """

    def __init__(
        self,
        url: str,
        path: str,
        *,
        key: str = "",
        key_header: str = "",
        headers: Mapping[str, str] | None = None,
        max_bytes: int = 2_000_000,
        max_calls: int = 8,
    ) -> None:
        self._url = _target(url, path)
        self._headers: Headers = {
            "Host": self._url.netloc.decode(),
            "User-Agent": "Ragsite",
            "Content-Type": "application/json",
            "Accept": "application/json",
            "Accept-Encoding": "identity",  # so that a small response cannot expand into a huge one
            **checked_headers(headers or {}),
            **_authorization(key, key_header),
        }
        self._max_bytes = max_bytes
        self._max_calls = max_calls
        self._runner = DeadlineRunner(max_calls)

    def __repr__(self) -> str:
        return f"Provider({self._url.host})"

    def post(self, body: Mapping[str, Any], *, deadline: float) -> Any:
        """Return the response's JSON. Runs in a thread, because a name lookup cannot be
        interrupted."""
        with counted_failures():
            return self._post(json.dumps(body).encode(), traced(), deadline)

    def _post(self, content: bytes, headers: Headers, deadline: float) -> Any:
        def exchange() -> bytes:
            return self._exchange(content, headers, deadline)

        try:
            answer = self._runner.run(exchange, deadline=deadline)
        except DeadlineExceeded:
            raise ProviderTimeout("The provider did not answer in time.") from None
        except NoCapacity:
            raise ProviderUnavailable("Too many calls to the provider hang.") from None
        try:
            return json.loads(answer)
        except (ValueError, RecursionError):
            raise ProviderBadResponse("The provider's answer is not JSON.") from None

    @cached_property
    def _pool(self) -> httpcore2.ConnectionPool:
        return httpcore2.ConnectionPool(
            ssl_context=ssl.create_default_context(),
            max_connections=self._max_calls,
            keepalive_expiry=30.0,
            network_backend=_DeadlineBackend(),
        )

    def _exchange(self, content: bytes, headers: Headers, deadline: float) -> bytes:
        _local.deadline = deadline
        with (
            provider_errors(),
            self._send(self._pool, content, seconds=_time_left(), headers=headers) as response,
        ):
            check_status(response)
            return self._body(response)

    def _send(
        self,
        pool: httpcore2.ConnectionPool,
        content: bytes,
        *,
        seconds: float,
        headers: Headers | None = None,
    ) -> AbstractContextManager[httpcore2.Response]:
        """Send the request. `seconds` limits the wait for a connection from the pool."""
        url = httpcore2.URL(
            scheme=self._url.raw_scheme,
            host=self._url.raw_host,
            port=self._url.port,
            target=self._url.raw_path,
        )
        return pool.stream(
            "POST",
            url,
            headers={**self._headers, **(headers or {}), "Content-Length": str(len(content))},
            content=content,
            extensions={"timeout": {"pool": seconds}},
        )

    def _body(self, response: httpcore2.Response) -> bytes:
        pieces: list[bytes] = []
        size = 0
        for piece in response.iter_stream():
            size += len(piece)
            if size > self._max_bytes:
                raise ProviderBadResponse(f"The answer has more than {self._max_bytes:,} bytes.")
            pieces.append(piece)
        return b"".join(pieces)


def _target(url: str, path: str) -> httpx2.URL:
    try:
        base = httpx2.URL(url)
    except (httpx2.InvalidURL, ValueError, TypeError):
        raise ValueError("The provider's address is not a URL.") from None
    if base.scheme not in ("http", "https") or not base.host or base.userinfo:
        raise ValueError("The provider's address must be http(s)://host/…, without a password.")
    ending = base.path.rstrip("/")
    parts = path.split("/")
    for count in range(len(parts), 1, -1):  # …/v1 and /v1/messages overlap
        if ending.endswith("/".join(parts[:count])):
            return base.copy_with(path="/".join([ending, *parts[count:]]))
    return base.copy_with(path=ending + path)


def _authorization(key: str, header: str) -> Headers:
    if not key:
        return {}
    if not key.isascii() or not key.isprintable() or " " in key:
        raise ValueError("The provider's key holds characters that no header may hold.")
    if header:
        return {header: key}
    return {"Authorization": f"Bearer {key}"}


def checked_headers(headers: Mapping[str, str]) -> Headers:
    """Validate the operator's headers. The error does not repeat them, as one may contain a key."""
    for name, value in headers.items():
        is_name = re.fullmatch(r"[A-Za-z0-9-]+", name)
        if not is_name or not isinstance(value, str) or not re.fullmatch(r"[\x20-\x7e]*", value):
            raise ValueError("A header of the provider has characters that no header may hold.")
    return {name: value for name, value in headers.items()}  # noqa: C416  (its type is wider)


def traced() -> Headers:
    """Return the header by which a provider's log can be matched with ours."""
    request_id = observing.request_id()
    return {"X-Request-ID": request_id} if request_id else {}


@contextmanager
def counted_failures() -> Iterator[None]:
    try:
        yield
    except ProviderFailed as error:
        observing.count_failure(error.code)
        raise


@contextmanager
def provider_errors() -> Iterator[None]:
    """Turn network errors into provider errors."""
    try:
        yield
    except httpcore2.TimeoutException:
        raise ProviderTimeout("The provider did not answer in time.") from None
    except httpcore2.ConnectError:
        raise ProviderUnavailable("The provider cannot be reached.") from None
    except (httpcore2.NetworkError, httpcore2.ProtocolError) as error:
        raise ProviderBrokeOff("The provider broke off.") from error


def check_status(response: httpcore2.Response) -> None:
    status = response.status
    if status == 200:
        return
    sentence = f"The provider answered with status {status}."
    if status in RETRYABLE_STATUSES:
        kind = ProviderRateLimited if status == 429 else ProviderUnavailable
        raise kind(sentence, status=status, retry_after=_retry_after(response))
    raise ProviderRefused(sentence, status=status)


def _retry_after(response: httpcore2.Response) -> float | None:
    """Return the seconds of a Retry-After header, which may be a number or a date."""
    fields = {name.lower(): content for name, content in response.headers}
    value = fields.get(b"retry-after", b"").decode("ascii", "replace").strip()
    try:
        seconds = float(value)
    except ValueError:
        try:
            moment = parsedate_to_datetime(value)
        except (ValueError, TypeError):
            return None
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        seconds = (moment - datetime.now(UTC)).total_seconds()
    return max(0.0, seconds) if math.isfinite(seconds) else None
