"""Structured logs: one line per event with its fields, each with the request id."""

import logging
import re
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from django.http import HttpRequest, HttpResponse
from pythonjsonlogger.json import JsonFormatter

logger = logging.getLogger(__name__)

_request_id: ContextVar[str] = ContextVar("request_id", default="")
_ACCEPTED_ID = re.compile(r"[A-Za-z0-9._:/+=-]{1,128}")  # anything else could forge log lines
MONITORED = ("/livez", "/readyz", "/metrics")  # requested every few seconds
_AMBIGUOUS = re.compile(r"[\s\"=]")
_STANDARD_FIELDS = {*vars(logging.makeLogRecord({})), "message", "asctime", "request_id"}


def current_request_id() -> str:
    return _request_id.get()


@contextmanager
def request_id(value: str) -> Iterator[None]:
    """Set the request id for work outside of an HTTP request: a job, a command."""
    token = _request_id.set(value)
    try:
        yield
    finally:
        _request_id.reset(token)


def accepted_request_id(submitted: str) -> str:
    """Return the caller's id if it is acceptable, otherwise a new one."""
    return submitted if _ACCEPTED_ID.fullmatch(submitted) else str(uuid.uuid4())


def request_id_middleware(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Take the caller's X-Request-ID or make one; return it; put it on every log line."""

    def answer(request: HttpRequest) -> HttpResponse:
        started = time.perf_counter()
        with request_id(accepted_request_id(request.headers.get("X-Request-ID", ""))):
            return _finished(request, get_response(request), started)

    return answer


def _finished(request: HttpRequest, response: HttpResponse, started: float) -> HttpResponse:
    response["X-Request-ID"] = current_request_id()
    if request.path not in MONITORED:
        fields = {"method": request.method, "path": _path(request), "status": response.status_code}
        took = round((time.perf_counter() - started) * 1000, 1)
        logger.info("request.done", extra={**fields, "ms": took})
    return response


def _path(request: HttpRequest) -> str:
    """Mask links, which open passages and namespaces without a key and must not be logged."""
    prefix = next((each for each in ("/d/", "/s/") if request.path.startswith(each)), "")
    return f"{prefix}…" if prefix else request.path


class ReadinessFilter(logging.Filter):
    """Drops Django's error for a 503 of /readyz, which is a normal response."""

    def filter(self, record: logging.LogRecord) -> bool:
        return getattr(getattr(record, "request", None), "path", "") != "/readyz"


class LinkFilter(logging.Filter):
    """Masks links in what Django logs of a request that failed."""

    def filter(self, record: logging.LogRecord) -> bool:
        request = getattr(record, "request", None)
        if isinstance(request, HttpRequest) and (masked := _path(request)) != request.path:
            record.request = masked
            if isinstance(record.args, tuple):
                record.args = tuple(masked if a == request.path else a for a in record.args)
        return True


class RequestIdFilter(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        record.request_id = current_request_id()
        return True


def json_formatter() -> logging.Formatter:
    return JsonFormatter(
        "{asctime}{levelname}{name}{message}{request_id}",
        style="{",
        rename_fields={"asctime": "time", "levelname": "level", "name": "logger"},
    )


class TextFormatter(logging.Formatter):
    """For a person at a terminal: time, level, event, then its fields.

    Text from callers (paths, names, files) cannot start a line, look like another field or control
    the terminal. Only tracebacks have lines of their own, and those are indented.
    """

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)-7s %(message)s", datefmt="%H:%M:%S")

    def format(self, record: logging.LogRecord) -> str:
        fields = {k: v for k, v in vars(record).items() if k not in _STANDARD_FIELDS}
        if id_ := getattr(record, "request_id", ""):
            fields["request_id"] = id_
        shown = [f"{escaped(key)}={_quoted(str(value))}" for key, value in fields.items()]
        record.message = escaped(record.getMessage())
        record.asctime = self.formatTime(record, self.datefmt)
        return " ".join([self.formatMessage(record), *shown]) + self._traceback(record)

    def _traceback(self, record: logging.LogRecord) -> str:
        parts = [self.formatException(record.exc_info)] if record.exc_info else []
        if record.stack_info:
            parts.append(self.formatStack(record.stack_info))
        # Split at "\n" only: splitlines() would also break at other separators.
        lines = [line for part in parts for line in part.split("\n")]
        return "".join(f"\n    {escaped(line)}" for line in lines)


def escaped(value: str) -> str:
    """Escape every non-printable character as Python does: \\n, \\x1b, \\u2028."""
    if value.isprintable():
        return value
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in value)


def _quoted(value: str) -> str:
    """Quote a value that could be read as more than one field."""
    if value and not _AMBIGUOUS.search(value):
        return escaped(value)
    return '"' + escaped(value.replace("\\", "\\\\").replace('"', '\\"')) + '"'
