"""The work a namespace has in hand: list, look at, cancel."""

import uuid
from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from documents import jobs
from documents.models import IngestJob
from ragsite.errors import ApiError

from .serializers import JobSerializer
from .views import NamespacedListView, in_namespace


def find_job(pk: uuid.UUID) -> IngestJob:
    job = IngestJob.objects.filter(pk=pk).first()
    if job is None:
        raise NotFound
    return job


class JobListView(NamespacedListView):
    serializer_class = JobSerializer
    filter_names = frozenset({"state", "document_id"})
    filter_choices = {"state": IngestJob.State.values}

    def get_queryset(self) -> QuerySet[IngestJob]:
        rows = IngestJob.objects.all()
        if state := self.request.query_params.get("state"):
            rows = rows.filter(state=state)
        if document_id := self.request.query_params.get("document_id"):
            try:
                rows = rows.filter(document_id=uuid.UUID(document_id))
            except ValueError:
                raise ValidationError({"document_id": "Must be a UUID."}) from None
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
    @extend_schema(operation_id="jobs_get", responses=JobSerializer)
    @in_namespace
    def get(self, request: Request, pk: uuid.UUID) -> Response:
        return Response(JobSerializer(find_job(pk)).data)


class CancelView(APIView):
    @extend_schema(operation_id="jobs_cancel", request=None, responses=JobSerializer)
    @in_namespace
    def post(self, request: Request, pk: uuid.UUID) -> Response:
        """Stop a job that waits or runs. What is searchable already stays searchable."""
        find_job(pk)
        if not jobs.cancel(pk):
            raise ApiError("job_ended", "This job has already ended.", http_status=409)
        return Response(JobSerializer(find_job(pk)).data)
