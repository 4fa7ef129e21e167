"""Routes WebSockets by path; Django handles everything else."""

import logging
from collections.abc import Mapping
from urllib.parse import urlsplit

from django.conf import settings
from django.http.request import split_domain_port, validate_host

from ragsite.platform.asgi_types import Application, Receive, Scope, Send, header_of
from ragsite.web.guards.cross_origin import is_allowed_page

logger = logging.getLogger(__name__)

# Close codes (RFC 6455; codes from 4000 are our own).
NORMAL, POLICY, TOO_BIG, INTERNAL, TRY_LATER = 1000, 1008, 1009, 1011, 1013
NOT_AUTHENTICATED, FORBIDDEN = 4401, 4403


class SocketRoutes:
    def __init__(self, application: Application, *, sockets: Mapping[str, Application]) -> None:
        self.application, self.sockets = application, sockets

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "websocket":
            await self.application(scope, receive, send)
            return
        socket = self.sockets.get(scope["path"])
        if socket is None or not is_trusted(scope):
            await receive()
            # Closed before it is accepted, so the server answers 403.
            await send({"type": "websocket.close", "code": POLICY})
            return
        await socket(scope, receive, send)


def is_trusted(scope: Scope) -> bool:
    """Whether the request is for one of our host names and not from another site's page, unless
    CORS_ORIGINS allows it.

    Browsers let any page open a socket to any host, but always send the page's origin. For what
    stands beside Django, which checks hosts itself.
    """
    allowed = settings.ALLOWED_HOSTS
    hosts = [str(value, "latin-1") for name, value in scope["headers"] if name == b"host"]
    if len(hosts) != 1 or not validate_host(split_domain_port(hosts[0])[0], allowed):
        return False
    origin = header_of(scope, b"origin")
    if not origin:
        return True
    try:
        parts = urlsplit(origin)
        name = split_domain_port(parts.netloc)[0]
    except ValueError:
        return False
    if is_allowed_page(origin):
        return True
    return parts.scheme in ("http", "https") and bool(name) and validate_host(name, allowed)
