"""Read a provider's response line by line as it arrives, within one deadline, until cancelled.

Reading and writing happen in the caller's thread, in steps short enough to notice cancellation
within half a second. Work that cannot be interrupted (name lookup, connecting, the TLS handshake)
runs in another thread, which the caller abandons.
"""

import json
import socket
import ssl
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import Any

import httpcore2

from documents.providers.deadline import (
    CANCEL_POLL,
    DeadlineExceeded,
    DeadlineRunner,
    NoCapacity,
    RunCancelled,
)
from documents.providers.deadline_streams import time_until
from documents.providers.errors import (
    ProviderBadResponse,
    ProviderFailed,
    ProviderUnavailable,
)
from documents.providers.http_api import (
    Headers,
    Provider,
    check_status,
    checked_headers,
    counted_failures,
    provider_errors,
    traced,
)

DRAIN_SECONDS = 0.1  # to read the end of the HTTP stream after the end of the answer
STREAM_TYPES = "text/event-stream, application/x-ndjson, application/json"


class CallCancelled(Exception):
    """The caller no longer wants the answer."""


class CallState:
    """The limits of one call, checked at every step. `wait_until` may change while it runs; the
    deadline may not."""

    def __init__(self, deadline: float, cancelled: threading.Event | None) -> None:
        self.deadline = deadline
        self.wait_until = deadline
        self.cancelled = cancelled or threading.Event()

    def seconds_left(self) -> float:
        if self.cancelled.is_set():
            raise CallCancelled
        return time_until(min(self.deadline, self.wait_until))

    def step(self) -> float:
        """Seconds until the next check of `cancelled`."""
        return min(CANCEL_POLL, self.seconds_left())


_local = threading.local()  # .call: this thread's current call


class StreamingProvider(Provider):
    """`max_bytes` limits a whole stream, `max_line_bytes` a line. At most `max_calls` streams run
    at a time; further ones wait."""

    def __init__(
        self,
        url: str,
        path: str,
        *,
        max_bytes: int = 32_000_000,
        max_line_bytes: int = 1_000_000,
        max_calls: int = 32,
        **options: Any,
    ) -> None:
        super().__init__(url, path, max_bytes=max_bytes, max_calls=max_calls, **options)
        self._max_line_bytes = max_line_bytes
        self._slots = threading.BoundedSemaphore(max_calls)

    def stream(
        self,
        body: Mapping[str, Any],
        *,
        deadline: float,
        cancelled: threading.Event | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> "LineStream":
        """Nothing is sent before the first line is requested."""
        call = CallState(deadline, cancelled)
        sent: Headers = {"Accept": STREAM_TYPES, **traced(), **checked_headers(headers or {})}
        return LineStream(call, self._lines(json.dumps(body).encode(), sent, call))

    def _lines(self, content: bytes, headers: Headers, call: CallState) -> Iterator[bytes]:
        with (
            counted_failures(),
            self._slot(call),
            provider_errors(),
            self._send(
                self._stream_pool, content, seconds=call.seconds_left(), headers=headers
            ) as response,
        ):
            check_status(response)
            yield from self._split(response.iter_stream())

    @contextmanager
    def _slot(self, call: CallState) -> Iterator[None]:
        with provider_errors():
            while not self._slots.acquire(timeout=call.step()):
                pass
        try:
            yield
        finally:
            self._slots.release()

    def _split(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """Yield lines without line ends, joining characters that the network split."""
        size, buffer = 0, bytearray()
        for chunk in chunks:
            size += len(chunk)
            if size > self._max_bytes:
                raise ProviderBadResponse(f"The answer has more than {self._max_bytes:,} bytes.")
            searched = len(buffer)
            buffer += chunk
            if buffer.find(b"\n", searched) >= 0:
                *lines, rest = bytes(buffer).split(b"\n")
                buffer = bytearray(rest)
                yield from (line.removesuffix(b"\r") for line in lines)
            if len(buffer) > self._max_line_bytes:
                raise ProviderBadResponse("A line of the provider's answer is too long.")
        if buffer:
            yield bytes(buffer).removesuffix(b"\r")

    @cached_property
    def _stream_pool(self) -> httpcore2.ConnectionPool:
        return httpcore2.ConnectionPool(
            ssl_context=ssl.create_default_context(),
            max_connections=self._max_calls,
            keepalive_expiry=30.0,
            network_backend=_Backend(DeadlineRunner(self._max_calls)),
        )


class LineStream:
    """The lines of one response. Different threads may iterate, one at a time. Closing it closes
    the connection."""

    def __init__(self, call: CallState, lines: Iterator[bytes]) -> None:
        self._call = call
        self._lines = lines

    def __iter__(self) -> "LineStream":
        return self

    def __next__(self) -> bytes:
        _local.call = self._call
        return next(self._lines)

    def wait_at_most(self, seconds: float) -> None:
        """Limit the wait for the next bytes. The deadline of the whole call still applies."""
        self._call.wait_until = time.monotonic() + seconds

    def finish(self) -> None:
        """Read the rest of the response, so that the connection can be reused, and close it."""
        self.wait_at_most(DRAIN_SECONDS)
        with suppress(ProviderFailed, CallCancelled):  # the response is already complete
            for _ in self:
                pass
        self.close()

    def close(self) -> None:
        _local.call = self._call
        self._lines.close()  # type: ignore[attr-defined]  # it is a generator


class _Backend(httpcore2.NetworkBackend):
    def __init__(self, runner: DeadlineRunner) -> None:
        self._plain = httpcore2.SyncBackend()
        self._runner = runner

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        call: CallState = _local.call

        def connect() -> httpcore2.NetworkStream:
            left = call.seconds_left()
            return self._plain.connect_tcp(host, port, left, local_address, socket_options)

        return _CallStream(_uninterrupted(self._runner, call, connect), self._runner)


def _uninterrupted(runner: DeadlineRunner, call: CallState, work: Any) -> httpcore2.NetworkStream:
    end = time.monotonic() + call.seconds_left()
    try:
        stream: httpcore2.NetworkStream = runner.run(
            work, deadline=end, cancelled=call.cancelled, discard=lambda made: made.close()
        )
    except RunCancelled:
        raise CallCancelled from None
    except DeadlineExceeded:
        raise httpcore2.ConnectTimeout("deadline") from None
    except NoCapacity:
        raise ProviderUnavailable("Too many calls to the provider hang.") from None
    return stream


class _CallStream(httpcore2.NetworkStream):
    """Reads and writes belong to the thread's current call, because connections outlive calls."""

    def __init__(self, stream: httpcore2.NetworkStream, runner: DeadlineRunner) -> None:
        self._stream = stream
        self._runner = runner

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        call: CallState = _local.call
        while True:
            step = call.step()
            try:
                return self._stream.read(max_bytes, step)
            except httpcore2.ReadTimeout:
                continue  # the next step() raises if the time is over or the call cancelled

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        call: CallState = _local.call
        connection: socket.socket = self._stream.get_extra_info("socket")
        left = memoryview(buffer)
        while left:
            connection.settimeout(call.step())
            try:
                left = left[connection.send(left) :]
            except TimeoutError:
                continue
            except OSError as error:
                raise httpcore2.WriteError(str(error)) from error

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore2.NetworkStream:
        call: CallState = _local.call
        plain: socket.socket = self._stream.get_extra_info("socket")
        with plain.dup() as handle:  # the handshake takes over the socket
            try:
                secured = _uninterrupted(
                    self._runner,
                    call,
                    lambda: self._stream.start_tls(
                        ssl_context, server_hostname, call.seconds_left()
                    ),
                )
            except (CallCancelled, httpcore2.ConnectTimeout):
                handle.shutdown(socket.SHUT_RDWR)  # ends the handshake and its thread
                raise
        return _CallStream(secured, self._runner)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
