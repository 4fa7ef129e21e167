"""A job's progress as server-sent events, until it ends."""

import asyncio
import time
import uuid
from collections.abc import AsyncGenerator
from typing import Any

from asgiref.sync import sync_to_async
from django.http import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.views import APIView

from documents.jobs import queue
from documents.models import IngestJob
from ragsite.database.tenancy import namespace
from ragsite.web.rendering import IgnoreAcceptHeader
from ragsite.web.streaming import event_stream

from .jobs import find_job
from .serializers import JobSerializer
from .views import caller_of

POLL_SECONDS = 0.5
HEARTBEAT_SECONDS = 15.0
MAX_SECONDS = 3600.0
EVENT = {
    "type": "object",
    "properties": {
        "event": {"type": "string", "enum": ["progress", "end"]},
        "data": {
            "type": "string",
            "description": "A job as returned by `GET /jobs/{id}`, in JSON.",
        },
    },
}


class JobEventsView(APIView):
    rate_class = "read"
    content_negotiation_class = IgnoreAcceptHeader

    @extend_schema(
        operation_id="jobs_events",
        responses={(200, "text/event-stream"): EVENT},
    )
    def get(self, request: Request, pk: uuid.UUID) -> HttpResponseBase:
        """Send `progress` events while the job changes, then one `end` event with its final
        state."""
        namespace_id = caller_of(request).namespace_id
        with namespace(namespace_id):
            find_job(pk)  # 404 now, because a stream cannot change its status
        return event_stream(follow(namespace_id, pk))


async def follow(namespace_id: uuid.UUID, job_id: uuid.UUID) -> AsyncGenerator[tuple[str, Any]]:
    shown: dict[str, Any] | None = None
    started = last_sent = time.monotonic()
    while time.monotonic() - started < MAX_SECONDS:
        job = await sync_to_async(_job_data)(namespace_id, job_id)
        if job is None or job["state"] not in queue.OPEN_STATES:
            yield "end", job or {"id": str(job_id), "state": "deleted"}
            return
        if job != shown:
            yield "progress", job
            shown, last_sent = job, time.monotonic()
        elif time.monotonic() - last_sent > HEARTBEAT_SECONDS:
            yield "", None
            last_sent = time.monotonic()
        await asyncio.sleep(POLL_SECONDS)
    yield "end", shown


def _job_data(namespace_id: uuid.UUID, job_id: uuid.UUID) -> dict[str, Any] | None:
    with namespace(namespace_id):
        job = IngestJob.objects.filter(pk=job_id).first()
    if job is None:
        return None
    fields = dict(JobSerializer(job).data)
    return {name: str(v) if isinstance(v, uuid.UUID) else v for name, v in fields.items()}
