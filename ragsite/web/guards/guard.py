"""Wraps an ASGI application in all guards, in their order."""

from django.conf import settings

from ragsite.platform.asgi_types import Application
from ragsite.web.threads import RequestThreads

from .bodies import BodyGuard
from .rate_limit_guard import RateLimitGuard
from .send_deadline import SendDeadline
from .stream_limit import StreamLimit

# uvicorn's protocol (http_protocol.py) disconnects a stalled client before this takes effect.
GRACE_SECONDS = 2.0


def guarded(application: Application, *, threads: RequestThreads) -> Application:
    seconds = settings.STREAMS["send_timeout"] + GRACE_SECONDS
    limited = BodyGuard(RateLimitGuard(application), threads=threads)
    return SendDeadline(StreamLimit(limited), seconds=seconds)
