"""POST /library/progress: the progress of the jobs that a page shows, as server-sent events."""

import asyncio
import time
import uuid
from collections.abc import AsyncGenerator
from typing import Any

from asgiref.sync import sync_to_async
from django.contrib.auth.models import AbstractBaseUser
from django.http import HttpRequest, HttpResponseBase
from rest_framework import serializers

from documents.api.events import HEARTBEAT_SECONDS, MAX_SECONDS, POLL_SECONDS
from documents.api.serializers import JobSerializer, StrictSerializer
from documents.jobs.queue import OPEN_STATES
from documents.models import IngestJob
from documents.pages.people import find_namespace, json_view
from ragsite.database.tenancy import namespace
from ragsite.web.streaming import event_stream

MAX_JOBS = 500
SHOWN = ("id", "document_id", "state", "stage", "passages_done", "passages_total", "error")


class _JobsSerializer(StrictSerializer):
    jobs = serializers.ListField(child=serializers.UUIDField(), min_length=1, max_length=MAX_JOBS)


@json_view
def progress(
    request: HttpRequest, user: AbstractBaseUser, data: dict[str, Any]
) -> HttpResponseBase:
    """Events `progress` while a job changes, `end` when it has ended, and `done` after the last."""
    namespace_id = find_namespace(user, data.pop("namespace", None)).pk
    form = _JobsSerializer(data=data)
    form.is_valid(raise_exception=True)
    return event_stream(_follow(namespace_id, form.validated_data["jobs"]))


async def _follow(
    namespace_id: uuid.UUID, job_ids: list[uuid.UUID]
) -> AsyncGenerator[tuple[str, Any]]:
    shown: dict[uuid.UUID, dict[str, Any]] = {}
    waiting = set(job_ids)
    started = last_sent = time.monotonic()
    while waiting and time.monotonic() - started < MAX_SECONDS:
        jobs = await sync_to_async(_jobs)(namespace_id, waiting)
        for job_id in list(waiting):
            job = jobs.get(job_id)
            if job is None or job["state"] not in OPEN_STATES:
                waiting.discard(job_id)
                yield "end", job or {"id": str(job_id), "state": "deleted"}
            elif job != shown.get(job_id):
                yield "progress", job
                shown[job_id], last_sent = job, time.monotonic()
        if time.monotonic() - last_sent > HEARTBEAT_SECONDS:
            yield "", None
            last_sent = time.monotonic()
        if waiting:
            await asyncio.sleep(POLL_SECONDS)
    yield "done", {}


def _jobs(namespace_id: uuid.UUID, job_ids: set[uuid.UUID]) -> dict[uuid.UUID, dict[str, Any]]:
    with namespace(namespace_id):
        jobs = list(IngestJob.objects.filter(pk__in=job_ids))
    return {job.pk: _shown(job) for job in jobs}


def _shown(job: IngestJob) -> dict[str, Any]:
    fields = JobSerializer(job).data
    shown = {name: fields[name] for name in SHOWN}
    return {n: str(v) if isinstance(v, uuid.UUID) else v for n, v in shown.items()}
