"""A namespace's ingest jobs: list, read, cancel."""

import uuid
from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from documents.accounts import audit
from documents.jobs import queue
from documents.models import IngestJob
from ragsite.access.rate_limits import BY_METHOD
from ragsite.platform.errors import ApiError

from .serializers import JobSerializer
from .views import NamespacedListView, in_namespace, uuid_in


def find_job(pk: uuid.UUID) -> IngestJob:
    job = IngestJob.objects.filter(pk=pk).first()
    if job is None:
        raise NotFound
    return job


class JobListView(NamespacedListView):
    serializer_class = JobSerializer
    filter_names = frozenset({"state", "document_id"})
    choices = {"state": IngestJob.State.values}

    def get_queryset(self) -> QuerySet[IngestJob]:
        rows = IngestJob.objects.all()
        if state := self.request.query_params.get("state"):
            rows = rows.filter(state=state)
        if "document_id" in self.request.query_params:
            rows = rows.filter(document_id=uuid_in(self.request, "document_id"))
        return rows

    @extend_schema(
        operation_id="jobs_list",
        parameters=[
            OpenApiParameter("state", str, enum=IngestJob.State.values),
            OpenApiParameter("document_id", uuid.UUID),
        ],
    )
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        return super().get(request, *args, **kwargs)


class JobView(APIView):
    rate_class = BY_METHOD

    @extend_schema(operation_id="jobs_get", responses=JobSerializer)
    @in_namespace
    def get(self, request: Request, pk: uuid.UUID) -> Response:
        return Response(JobSerializer(find_job(pk)).data)


class CancelView(APIView):
    rate_class = BY_METHOD

    @extend_schema(operation_id="jobs_cancel", request=None, responses=JobSerializer)
    @in_namespace
    def post(self, request: Request, pk: uuid.UUID) -> Response:
        """Cancel a queued or running job. Versions that are already searchable stay searchable."""
        find_job(pk)
        if not queue.cancel(pk):
            raise ApiError("job_ended", "This job has already ended.", http_status=409)
        audit.record("job.cancel", target=audit.Target("ingestjob", str(pk)))
        return Response(JobSerializer(find_job(pk)).data)
