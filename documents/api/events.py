"""A job's progress as server-sent events, until it ends."""

import asyncio
import time
import uuid
from collections.abc import AsyncIterator
from typing import Any

from asgiref.sync import sync_to_async
from django.http import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request
from rest_framework.views import APIView

from documents import jobs
from documents.models import IngestJob
from ragsite.streaming import event_stream
from ragsite.tenancy import namespace

from .jobs import find_job
from .serializers import JobSerializer
from .views import caller_of

LOOK_EVERY = 0.5
HEARTBEAT_EVERY = 15.0
LONGEST = 3600.0


class EventStreamRenderer(BaseRenderer):
    """Only lets DRF accept `Accept: text/event-stream`; the response renders itself."""

    media_type = "text/event-stream"
    format = "sse"

    def render(self, data: Any, *args: Any, **kwargs: Any) -> bytes:
        return JSONRenderer().render(data)


class JobEventsView(APIView):
    renderer_classes = [JSONRenderer, EventStreamRenderer]

    @extend_schema(
        operation_id="jobs_events",
        responses={(200, "text/event-stream"): OpenApiResponse(OpenApiTypes.STR)},
    )
    def get(self, request: Request, pk: uuid.UUID) -> HttpResponseBase:
        """Events `progress` while it changes, then one `end` with the job as it ended."""
        namespace_id = caller_of(request).namespace_id
        with namespace(namespace_id):
            find_job(pk)  # 404 now, while there is still a status to answer with
        return event_stream(follow(namespace_id, pk))


async def follow(namespace_id: uuid.UUID, job_id: uuid.UUID) -> AsyncIterator[tuple[str, Any]]:
    shown: dict[str, Any] | None = None
    started = spoken = time.monotonic()
    while time.monotonic() - started < LONGEST:
        job = await sync_to_async(_look)(namespace_id, job_id)
        if job is None or job["state"] not in jobs.OPEN_STATES:
            yield "end", job or {"id": str(job_id), "state": "deleted"}
            return
        if job != shown:
            yield "progress", job
            shown, spoken = job, time.monotonic()
        elif time.monotonic() - spoken > HEARTBEAT_EVERY:
            yield "", None
            spoken = time.monotonic()
        await asyncio.sleep(LOOK_EVERY)
    yield "end", shown


def _look(namespace_id: uuid.UUID, job_id: uuid.UUID) -> dict[str, Any] | None:
    with namespace(namespace_id):
        job = IngestJob.objects.filter(pk=job_id).first()
    if job is None:
        return None
    fields = dict(JobSerializer(job).data)
    return {name: str(v) if isinstance(v, uuid.UUID) else v for name, v in fields.items()}
