"""/metrics of a host that runs only workers, where there is no web server to serve it.

Only what this host has counted: the gauges of the queue come from any web server.
"""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from django.conf import settings
from prometheus_client import CONTENT_TYPE_LATEST

from ragsite.platform import metrics

from .metrics_page import opens

READ_SECONDS = 5.0  # for a request to arrive


class _Handler(BaseHTTPRequestHandler):
    timeout = READ_SECONDS
    server_version, sys_version = "ragsite", ""

    def do_GET(self) -> None:
        if self.path != "/metrics":
            self._answer(404, b"Only /metrics is here.\n", "text/plain")
        elif not opens(self.headers.get("Authorization", "")):
            self._answer(401, b"Send METRICS_TOKEN as a bearer token.\n", "text/plain")
        else:
            self._answer(200, metrics.exposition(), CONTENT_TYPE_LATEST)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: a scrape every few seconds is no event."""

    def _answer(self, status: int, body: bytes, media_type: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", media_type)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        if status == 401:
            self.send_header("WWW-Authenticate", "Bearer")
        self.end_headers()
        self.wfile.write(body)


class _Server(ThreadingHTTPServer):
    daemon_threads = True


def start() -> ThreadingHTTPServer | None:
    """Serve in threads of this process, if METRICS_PORT and METRICS_TOKEN are set."""
    if not settings.METRICS_PORT or not settings.METRICS_TOKEN:
        return None
    server = _Server((settings.HOST, settings.METRICS_PORT), _Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
