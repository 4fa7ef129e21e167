"""The web process: Django behind a body limit, with the embedding model warmed at start."""

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ragsite.settings")
os.environ.setdefault("RAGSITE_PROCESS", "web")  # settings give this process a connection pool

from django.conf import settings
from django.core.asgi import get_asgi_application

from ragsite.body_limit import BodyLimit

application = BodyLimit(get_asgi_application(), max_bytes=settings.REQUEST_MAX_BYTES)

from ragsite.health import warm_embedder  # noqa: E402  (needs the apps that the line above loads)

warm_embedder()
