"""One envelope for every error: {"error": {"code", "message", "details", "request_id"}}."""

import errno
import logging
from typing import Any

from django.core.exceptions import (
    PermissionDenied,
    RequestDataTooBig,
    TooManyFieldsSent,
    TooManyFilesSent,
)
from django.db import InterfaceError, OperationalError
from django.http import Http404
from psycopg_pool import PoolTimeout
from rest_framework import exceptions, status
from rest_framework.response import Response

from ragsite.database.timeouts import is_timeout

from .logs import current_request_id

logger = logging.getLogger(__name__)

CHALLENGE = 'Bearer realm="ragsite"'
FLAT_PREFIX = "/api/rag/"
OPENAI_PREFIX = "/v1/"
TIMEOUT_MESSAGE = "The database took too long for this and was stopped; try again shortly."


class ApiError(exceptions.APIException):
    """An error with a code that clients can rely on."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        http_status: int = 400,
        details: Any = None,
        retry_after: int | None = None,
    ) -> None:
        super().__init__(message, code)
        self.status_code = http_status
        self.code = code
        self.details = details
        self.retry_after = retry_after  # seconds


def envelope(code: str, message: str, details: Any = None) -> dict[str, Any]:
    error = {
        "code": code,
        "message": message,
        "details": details if details is not None else {},
        "request_id": current_request_id(),
    }
    return {"error": error}


def flat_envelope(code: str, message: str) -> dict[str, Any]:
    """The envelope of the routes under FLAT_PREFIX, whose clients expect another shape."""
    return {"success": False, "error": message, "code": code, "requestId": current_request_id()}


def openai_envelope(
    http_status: int, code: str, message: str, param: str | None = None
) -> dict[str, Any]:
    """The envelope of the routes under OPENAI_PREFIX, as OpenAI's clients expect it."""
    kind = _OPENAI_TYPES.get(http_status)
    if kind is None:
        kind = "server_error" if http_status >= 500 else "invalid_request_error"
    error = {"message": message, "type": kind, "param": param, "code": code}
    return {"error": {**error, "request_id": current_request_id()}}


_OPENAI_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    409: "conflict_error",
    429: "rate_limit_error",
}


def envelope_at(path: str, http_status: int, code: str, message: str) -> dict[str, Any]:
    """Return an error in the shape that clients of this address expect."""
    if path.startswith(FLAT_PREFIX):
        return flat_envelope(code, message)
    if f"{path}/".startswith(OPENAI_PREFIX):
        return openai_envelope(http_status, code, message)
    return envelope(code, message)


def exception_handler(error: Exception, context: dict[str, Any]) -> Response:
    """DRF's EXCEPTION_HANDLER: turn any exception of a view into an error envelope."""
    if isinstance(error, Http404):
        error = exceptions.NotFound()
    elif isinstance(error, PermissionDenied):
        error = exceptions.PermissionDenied()
    elif is_timeout(error):
        logger.error("database.timeout", extra={"error": type(error.__cause__).__name__})
        return timed_out()
    elif isinstance(error, OperationalError | InterfaceError | PoolTimeout):
        logger.error("database.unavailable", extra={"error": type(error).__name__})
        return unavailable()
    elif isinstance(error, TooManyFilesSent | TooManyFieldsSent | RequestDataTooBig):
        error = ApiError("too_large", "That is too much for one request.", http_status=413)
    elif isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        logger.error("request.no_room", extra={"error": str(error)})
        message = "There is no room left for this request."
        error = ApiError("storage_full", message, http_status=507)
    if not isinstance(error, exceptions.APIException):
        logger.exception("request.failed", exc_info=error)
        body = envelope("internal_error", "Something went wrong on our side.")
        return Response(body, status=status.HTTP_500_INTERNAL_SERVER_ERROR)
    code, message, details = _described(error)
    headers = {"WWW-Authenticate": CHALLENGE} if error.status_code == 401 else {}
    if retry_after := getattr(error, "retry_after", None):
        headers["Retry-After"] = str(retry_after)
    return Response(envelope(code, message, details), status=error.status_code, headers=headers)


def envelope_of(error: Exception) -> dict[str, Any]:
    """Return the error's envelope for a stream that has already sent its status and headers; the
    seconds to wait are in the details."""
    response = exception_handler(error, {})
    body: dict[str, Any] = response.data
    if wait := response.headers.get("Retry-After"):
        body["error"]["details"] = {**body["error"]["details"], "retry_after": int(wait)}
    return body


def unavailable() -> Response:
    body = envelope("unavailable", "The database cannot be reached right now; try again shortly.")
    return Response(body, status=status.HTTP_503_SERVICE_UNAVAILABLE, headers={"Retry-After": "5"})


def timed_out() -> Response:
    body = envelope("database_timeout", TIMEOUT_MESSAGE)
    return Response(body, status=503, headers={"Retry-After": "5"})


def _described(error: exceptions.APIException) -> tuple[str, str, Any]:
    if isinstance(error, ApiError):
        return error.code, str(error.detail), error.details
    if isinstance(error, exceptions.ValidationError):
        # Well-formed but not valid; 400 is for bodies that cannot be parsed.
        error.status_code = status.HTTP_422_UNPROCESSABLE_ENTITY
        return "invalid_request", describe(error), {"fields": flat_errors(error)}
    if isinstance(error, exceptions.NotFound):
        return "not_found", "There is no such thing here.", None
    codes = error.get_codes()
    code = {
        "error": "bad_request",
        "parse_error": "malformed_request",
        "permission_denied": "insufficient_scope",
    }.get(str(codes), str(codes))
    return code, str(error.detail), None


def describe(error: exceptions.ValidationError) -> str:
    """Return the first error as a sentence."""
    first = flat_errors(error)[0]
    return f"{first['field']}: {first['message']}" if first["field"] else first["message"]


def flat_errors(error: exceptions.ValidationError) -> list[dict[str, str]]:
    """Return all errors as a list of {field, code, message}."""
    return _flat(error.get_full_details())


def _flat(details: Any, path: str = "") -> list[dict[str, str]]:
    """Flatten DRF's nested errors into a list of {field, code, message}."""
    if _is_leaf(details):
        return [{"field": path, "code": details["code"], "message": str(details["message"])}]
    if isinstance(details, dict):
        branches = list(details.items())
    else:
        leaves = all(map(_is_leaf, details))
        branches = [("" if leaves else str(n), d) for n, d in enumerate(details) if d]
    flat = []
    for name, branch in branches:
        name = "" if name == "non_field_errors" else str(name)
        flat += _flat(branch, ".".join(part for part in (path, name) if part))
    return flat


def _is_leaf(details: Any) -> bool:
    return isinstance(details, dict) and isinstance(details.get("message"), str)
