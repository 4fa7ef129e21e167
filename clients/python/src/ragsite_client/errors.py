"""What can go wrong, as exceptions: by status, each with the server's stable `code`."""

from typing import Any

import httpx2


class RagsiteError(Exception):
    """Every error of this package."""


class ConnectionFailed(RagsiteError):
    """The server was not reached, or the connection broke."""


class TimedOut(ConnectionFailed):
    """No answer in time."""


class StreamBroken(ConnectionFailed):
    """A stream ended before its last event. It is never resumed: ask again if you want to."""


class UnexpectedResponse(RagsiteError):
    """What answered does not speak this API: perhaps a proxy, or a wrong address."""


class ApiError(RagsiteError):
    """The server refused or failed."""

    def __init__(
        self,
        message: str,
        *,
        code: str = "unknown",
        status: int = 0,
        details: dict[str, Any] | None = None,
        request_id: str = "",
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code  # stable, made for programs
        self.status = status  # of HTTP; 0 for an error inside a stream
        self.details = details or {}
        self.request_id = request_id  # for the operator, who finds it in the logs
        self.retry_after = retry_after  # seconds

    def __str__(self) -> str:
        return f"{self.message} [{self.code}, request {self.request_id or 'unknown'}]"


class InvalidRequest(ApiError):
    """400 or 422. `fields` says what is wrong with which field."""

    @property
    def fields(self) -> dict[str, str]:
        found = self.details.get("fields")
        return {one["field"]: one["message"] for one in found} if isinstance(found, list) else {}


class NotAuthenticated(ApiError):
    """401: no key, or one that is not valid."""


class PermissionDenied(ApiError):
    """403: the key lacks a scope, or a quota is used up."""


class NotFound(ApiError):
    """404."""


class Conflict(ApiError):
    """409."""


class RateLimited(ApiError):
    """429: wait `retry_after` seconds."""


class ServerError(ApiError):
    """5xx."""


class Unavailable(ServerError):
    """503: try again after `retry_after` seconds."""


_BY_STATUS: dict[int, type[ApiError]] = {
    400: InvalidRequest,
    401: NotAuthenticated,
    403: PermissionDenied,
    404: NotFound,
    409: Conflict,
    422: InvalidRequest,
    429: RateLimited,
    503: Unavailable,
}


def error_of(response: httpx2.Response) -> RagsiteError:
    """The exception for a response that is not a success. Its body must have been read."""
    status = response.status_code
    try:
        body = response.json()["error"]
        code, message = str(body["code"]), str(body["message"])
    except (ValueError, KeyError, TypeError):
        return UnexpectedResponse(
            f"HTTP {status} from {response.url.host}, not an answer of this API."
        )
    kind = _BY_STATUS.get(status, ServerError if status >= 500 else ApiError)
    return kind(
        message,
        code=code,
        status=status,
        details=body.get("details"),
        request_id=str(body.get("request_id") or response.headers.get("X-Request-ID", "")),
        retry_after=retry_after_of(response),
    )


def error_in_stream(data: Any) -> ApiError:
    """Of the `error` event that ends a stream."""
    body = data["error"]
    details = body.get("details") or {}
    return ApiError(
        str(body["message"]),
        code=str(body["code"]),
        details=details,
        request_id=str(body.get("request_id", "")),
        retry_after=details.get("retry_after"),
    )


def retry_after_of(response: httpx2.Response) -> float | None:
    try:
        return max(0.0, float(response.headers["Retry-After"]))
    except (KeyError, ValueError):
        return None


def connection_error(error: httpx2.TransportError) -> ConnectionFailed:
    kind = TimedOut if isinstance(error, httpx2.TimeoutException) else ConnectionFailed
    return kind(f"{type(error).__name__}: {error}".rstrip(": "))
