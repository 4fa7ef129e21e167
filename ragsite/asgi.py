"""The web process: Django and the applications next to it, behind guards. Warms the embedding
model."""

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ragsite.settings")
os.environ.setdefault("RAGSITE_PROCESS", "web")  # settings give this process a connection pool

import django

django.setup(set_prefix=False)

from ragsite.production_checks import require_fit_for_production  # noqa: E402
from ragsite.service.health import warm_embedder  # noqa: E402  (the apps come first)
from ragsite.web.guards.cross_origin import CrossOrigin  # noqa: E402
from ragsite.web.guards.guard import guarded  # noqa: E402
from ragsite.web.lifespan import Lifespan  # noqa: E402
from ragsite.web.one_thread import OneThreadHandler  # noqa: E402
from ragsite.web.paths import PathRoutes, TidyPaths  # noqa: E402
from ragsite.web.sockets import SocketRoutes  # noqa: E402
from ragsite.web.threads import RequestThreads  # noqa: E402
from retrieval.api.answers.socket import PATH as ANSWER_SOCKET  # noqa: E402
from retrieval.api.answers.socket import AnswerSocket  # noqa: E402
from retrieval.mcp.http_door import PATHS as MCP  # noqa: E402
from retrieval.mcp.http_door import McpDoor  # noqa: E402

require_fit_for_production()
threads = RequestThreads()
mcp = McpDoor(threads=threads)
sockets = {ANSWER_SOCKET: AnswerSocket(threads=threads)}
routes = PathRoutes(OneThreadHandler(threads=threads), paths=dict.fromkeys(MCP, mcp))
routes_and_sockets = SocketRoutes(routes, sockets=sockets)
inside = guarded(routes_and_sockets, threads=threads)
application = Lifespan(CrossOrigin(TidyPaths(inside)), during=mcp.running)
warm_embedder()
