"""uvicorn's HTTP protocol with two deadlines added: for headers, and for clients that never read.

uvicorn loads it by name (`--http`, see ragsite/service/programs.py).
"""

import asyncio
import socket
import struct
from contextlib import suppress
from typing import Any

from django.conf import settings
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from . import shutdown

MAX_HEADER_BYTES = 64 * 1024
UNSENT_IN_KERNEL = 128 * 1024  # a client that reads nothing holds no more than this of our memory


class GuardedProtocol(HttpToolsProtocol):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._send_seconds: float = settings.STREAMS["send_timeout"]
        self._header_seconds: float = settings.BODIES["header_timeout"]
        self._header_timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None
        self._close_timer: asyncio.TimerHandle | None = None
        self._header_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._limit_socket(transport.get_extra_info("socket"))
        self._await_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in (self._header_timer, self._write_timer, self._close_timer):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        shutdown.begin()
        super().shutdown()

    def _limit_socket(self, sock: Any) -> None:
        if sock is None or sock.family == socket.AF_UNIX:
            return
        with suppress(OSError, AttributeError):  # not available on every system
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, UNSENT_IN_KERNEL)
            # The kernel's own deadline, also for the last bytes of a connection we have closed.
            timeout = int(self._send_seconds * 1000)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, timeout)

    # -- headers: complete in time, and not endless -----------------------------------

    def _await_headers(self) -> None:
        self._header_bytes = 0
        if self._header_timer is None:
            self._header_timer = self.loop.call_later(self._header_seconds, self._headers_late)

    def _headers_late(self) -> None:
        self._header_timer = None
        if not self.transport.is_closing():
            self._refuse(408)

    def data_received(self, data: bytes) -> None:
        awaiting = self._header_timer is not None
        super().data_received(data)
        if awaiting and self._header_timer is not None and not self.transport.is_closing():
            self._header_bytes += len(data)
            if self._header_bytes > MAX_HEADER_BYTES:
                self._refuse(431)

    def on_headers_complete(self) -> None:
        if self._header_timer is not None:
            self._header_timer.cancel()
            self._header_timer = None
        super().on_headers_complete()

    def _refuse(self, status: int) -> None:
        """Refuse a connection before there is a request, and so without an error envelope."""
        self.transport.write(
            STATUS_LINE[status] + b"content-length: 0\r\nconnection: close\r\n\r\n"
        )
        self._close()

    # -- clients that do not read ------------------------------------------------------

    def pause_writing(self) -> None:
        super().pause_writing()
        self._write_timer = self.loop.call_later(self._send_seconds, self._abort)

    def resume_writing(self) -> None:
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None
        super().resume_writing()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.transport.is_closing():
            self._close()
        elif self.cycle.response_complete:  # otherwise the next request has arrived
            self._await_headers()

    def timeout_keep_alive_handler(self) -> None:
        self._close()

    def _close(self) -> None:
        """Close once everything is sent, or after the send timeout."""
        self.transport.close()
        if self._close_timer is None:
            self._close_timer = self.loop.call_later(self._send_seconds, self._abort)

    def _abort(self) -> None:
        """Close at once and let the kernel drop unsent data."""
        if (sock := self.transport.get_extra_info("socket")) is not None:
            with suppress(OSError):
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()
