"""The web process: Django behind a body limit, with the embedding model warmed at start."""

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ragsite.settings")
os.environ.setdefault("RAGSITE_PROCESS", "web")  # settings give this process a connection pool

import django
from django.conf import settings

django.setup(set_prefix=False)

from ragsite.body_limit import BodyLimit  # noqa: E402  (the apps come first)
from ragsite.health import warm_embedder  # noqa: E402
from ragsite.one_thread import OneThreadHandler  # noqa: E402

application = BodyLimit(OneThreadHandler(), max_bytes=settings.REQUEST_MAX_BYTES)
warm_embedder()
