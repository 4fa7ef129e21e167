"""Which application answers a path, and one spelling of it for all."""

import re
from collections.abc import Mapping

from ragsite.platform.asgi_types import Application, Receive, Scope, Send

OPENAI = "/v1/"
_SLASHES = re.compile("/{2,}")


class PathRoutes:
    """Routes requests for a few exact paths past Django, to applications of their own."""

    def __init__(self, application: Application, *, paths: Mapping[str, Application]) -> None:
        self.application, self.paths = application, paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        beside = self.paths.get(scope["path"]) if scope["type"] == "http" else None
        await (beside or self.application)(scope, receive, send)


class TidyPaths:
    """Reads `/v1//models/` as `/v1/models`.

    Clients of OpenAI's API make addresses of a base that people type, often with a slash too many,
    and do not follow the redirect of a POST.
    """

    def __init__(self, application: Application) -> None:
        self.application = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].startswith(OPENAI):
            raw = scope.get("raw_path") or scope["path"].encode()
            tidied = tidy(raw.decode("latin-1")).encode("latin-1")
            scope = {**scope, "path": tidy(scope["path"]), "raw_path": tidied}
        await self.application(scope, receive, send)


def tidy(path: str) -> str:
    return _SLASHES.sub("/", path).rstrip("/")
