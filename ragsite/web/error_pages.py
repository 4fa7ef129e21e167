"""Errors outside of the views: a page for people, the envelope for programs.

Programs are clients of the API's addresses, and clients that send or accept JSON and no HTML.
"""

import sys
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template import loader

from ragsite.database.timeouts import is_timeout
from ragsite.platform.errors import OPENAI_PREFIX, TIMEOUT_MESSAGE, envelope_at
from ragsite.platform.logs import current_request_id

PROGRAMS = ("/api/", "/v1/", "/mcp", "/livez", "/readyz")
OPENAI_ROUTES = ("models", "chat/completions", "responses", "embeddings", "files", "vector_stores")

# code → title and advice; the message of the envelope stands between them.
_WORDS = {
    "not_found": ("Page not found", "The address may be mistyped, or the page no longer exists."),
    "bad_request": ("Bad request", "Go back and try again."),
    "forbidden": ("Not allowed", "Ask an operator of this service for access."),
    "csrf_failed": ("The form has expired", "Go back, reload the page and send the form again."),
    "database_timeout": ("That took too long", "Try a narrower search."),
    "internal_error": (
        "Something went wrong",
        "Try again. If the problem persists, report the number below.",
    ),
}


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    message = " ".join(filter(None, ("There is no such thing here.", _instead(request.path))))
    return _answer(request, 404, "not_found", message)


def _instead(path: str) -> str:
    """Return what clients of OpenAI's API can call instead."""
    if path == "/v1/completions":
        return "Models answer at /v1/chat/completions only."
    if f"{path}/".startswith(OPENAI_PREFIX):
        return f"There are {', '.join(OPENAI_PREFIX + name for name in OPENAI_ROUTES)}."
    if any(f"{path}/".startswith(f"/{name}/") for name in OPENAI_ROUTES):
        return "The address of the OpenAI-compatible API ends in /v1."
    return ""


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _answer(request, 400, "bad_request", "The request cannot be understood.")


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _answer(request, 403, "forbidden", "This is not allowed.")


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """settings.CSRF_FAILURE_VIEW."""
    message = "The request did not come from a current page of this site."
    return _answer(request, 403, "csrf_failed", message)


def server_error(request: HttpRequest) -> HttpResponse:
    if is_timeout(sys.exc_info()[1]):
        response = _answer(request, 503, "database_timeout", TIMEOUT_MESSAGE)
        response["Retry-After"] = "5"
        return response
    return _answer(request, 500, "internal_error", "Something went wrong on our side.")


def is_for_programs(request: HttpRequest) -> bool:
    if request.path.startswith(PROGRAMS) or request.path == "/v1":
        return True
    accepted = request.headers.get("Accept", "")
    sends_json = request.content_type == "application/json"
    return "text/html" not in accepted and ("json" in accepted or sends_json)


def _answer(request: HttpRequest, status: int, code: str, message: str) -> HttpResponse:
    if is_for_programs(request):
        return JsonResponse(envelope_at(request.path, status, code, message), status=status)
    title, advice = _WORDS[code]
    context: dict[str, Any] = {
        "title": title,
        "message": message,
        "advice": advice,
        "status": status,
        "is_admin": request.path.startswith("/admin/"),
        "request_id": current_request_id(),
        "csp_nonce": getattr(request, "csp_nonce", ""),
    }
    # Without the request: its context processors read the session, which may be what failed.
    return HttpResponse(loader.get_template("error.html").render(context), status=status)
