"""The web process: Django behind its guards, with the embedding model warmed at start."""

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ragsite.settings")
os.environ.setdefault("RAGSITE_PROCESS", "web")  # settings give this process a connection pool

import django

django.setup(set_prefix=False)

from ragsite.service.health import warm_embedder  # noqa: E402  (the apps come first)
from ragsite.web.guards.guard import guarded  # noqa: E402
from ragsite.web.one_thread import OneThreadHandler  # noqa: E402
from ragsite.web.sockets import SocketRoutes  # noqa: E402
from ragsite.web.threads import RequestThreads  # noqa: E402
from retrieval.api.answers.socket import PATH as ANSWER_SOCKET  # noqa: E402
from retrieval.api.answers.socket import AnswerSocket  # noqa: E402

threads = RequestThreads()
sockets = {ANSWER_SOCKET: AnswerSocket(threads=threads)}
django_and_sockets = SocketRoutes(OneThreadHandler(threads=threads), sockets=sockets)
application = guarded(django_and_sockets, threads=threads)
warm_embedder()
