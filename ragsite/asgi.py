"""The web process: Django behind its guards, with the embedding model warmed at start."""

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ragsite.settings")
os.environ.setdefault("RAGSITE_PROCESS", "web")  # settings give this process a connection pool

import django

django.setup(set_prefix=False)

from ragsite.health import warm_embedder  # noqa: E402  (the apps come first)
from ragsite.one_thread import OneThreadHandler  # noqa: E402
from ragsite.platform.guard import guarded  # noqa: E402
from ragsite.platform.threads import RequestThreads  # noqa: E402

threads = RequestThreads()
application = guarded(OneThreadHandler(threads=threads), threads=threads)
warm_embedder()
