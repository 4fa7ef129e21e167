"""Routes requests for a few exact paths past Django, to separate applications."""

from collections.abc import Mapping

from ragsite.platform.asgi_types import Application, Receive, Scope, Send


class PathRoutes:
    def __init__(self, application: Application, *, paths: Mapping[str, Application]) -> None:
        self.application, self.paths = application, paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        beside = self.paths.get(scope["path"]) if scope["type"] == "http" else None
        await (beside or self.application)(scope, receive, send)
