"""Content-Security-Policy on every response: pages run only this service's own scripts and
styles."""

import secrets
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

HEADER = "Content-Security-Policy"
NOT_A_PAGE = "default-src 'none'; frame-ancestors 'none'; sandbox"
# A chart has inline styles and no scripts.
CHART = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox"
PAGE = (
    "default-src 'none'; script-src 'self' 'nonce-{nonce}'; style-src 'self' 'nonce-{nonce}'; "
    "img-src 'self' data:; font-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)


def content_policy_middleware(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Templates put `request.csp_nonce` on their own inline scripts and styles."""

    def answer(request: HttpRequest) -> HttpResponse:
        nonce = secrets.token_urlsafe(16)
        request.csp_nonce = nonce  # type: ignore[attr-defined]
        response = get_response(request)
        if HEADER not in response.headers:
            response[HEADER] = _policy(response.get("Content-Type", ""), nonce)
        return response

    return answer


def _policy(content_type: str, nonce: str) -> str:
    kind = content_type.partition(";")[0].strip().lower()
    if kind in ("text/html", ""):
        return PAGE.format(nonce=nonce)
    return CHART if kind == "image/svg+xml" else NOT_A_PAGE
