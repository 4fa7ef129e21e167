"""Network streams that apply one deadline to all steps of a call together."""

import ssl
import time
from collections.abc import Callable
from typing import Any

import httpcore2


def time_until(deadline: float) -> float:
    """Return the seconds left until a time.monotonic() deadline; raise ReadTimeout if it has
    passed."""
    left = deadline - time.monotonic()
    if left <= 0:
        raise httpcore2.ReadTimeout("deadline")
    return left


class DeadlineStream(httpcore2.NetworkStream):
    """Limits every read and write to the time left for the whole call."""

    def __init__(self, stream: httpcore2.NetworkStream, time_left: Callable[[], float]) -> None:
        self._stream = stream
        self._time_left = time_left

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, self._time_left())

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, self._time_left())

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore2.NetworkStream:
        secured = self._stream.start_tls(ssl_context, server_hostname, self._time_left())
        return DeadlineStream(secured, self._time_left)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
