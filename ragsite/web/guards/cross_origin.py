"""Lets pages of other sites call the API from a browser, if CORS_ORIGINS names them.

Only what is called with a key is opened. The pages of this service, which work with cookies, are
not, and no answer allows credentials.
"""

import re

from django.conf import settings
from starlette.middleware.cors import CORSMiddleware

from ragsite.platform.asgi_types import Application, Receive, Scope, Send

ANY = "*"
OPEN_TO_PAGES = ("/api/", "/v1/", "/mcp")
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
# Response headers that a page may read.
EXPOSED = (
    *("X-Request-ID", "Retry-After", "Idempotency-Replayed", "WWW-Authenticate"),
    *("RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "RateLimit-Policy"),
    *("openai-poll-after-ms", "x-should-retry"),
)
REMEMBERED_SECONDS = 600  # how long a browser keeps the permission
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[^/\s*@]+")  # app://obsidian.md is one, too


class CrossOrigin:
    """Outside of all guards, because a browser can only read a refusal that allows its page."""

    def __init__(self, application: Application) -> None:
        self.application = application
        self._opened: Application | None = None
        if settings.CORS_ORIGINS:
            self._opened = CORSMiddleware(
                application,  # type: ignore[arg-type]
                allow_origins=settings.CORS_ORIGINS,
                allow_methods=METHODS,
                allow_headers=[ANY],
                expose_headers=EXPOSED,
                allow_private_network=True,  # a page on the internet, a service at home
                max_age=REMEMBERED_SECONDS,
            )  # type: ignore[assignment]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_opened = scope["type"] == "http" and scope["path"].startswith(OPEN_TO_PAGES)
        application = self._opened if is_opened and self._opened else self.application
        await application(scope, receive, send)


def is_allowed_page(origin: str) -> bool:
    """Whether CORS_ORIGINS allows pages of this origin to call the API."""
    return ANY in settings.CORS_ORIGINS or origin in settings.CORS_ORIGINS


def is_origin(text: str) -> bool:
    return text == ANY or bool(_ORIGIN.fullmatch(text))
