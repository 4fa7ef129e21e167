"""POST /ingest: files as multipart, texts or a URL as JSON; each item is accepted separately."""

import uuid
from collections.abc import Callable
from typing import Any

from django.conf import settings
from drf_spectacular.utils import PolymorphicProxySerializer, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from documents.api import idempotency
from documents.api.views import caller_of
from documents.errors import IngestError
from documents.intake.intake import Submission
from documents.models import Document, Namespace
from ragsite.database.tenancy import namespace
from ragsite.web.guards.stream_limit import waiting
from ragsite.web.parsing import ShallowJSONParser

from .requests import (
    TextsSerializer,
    UploadSerializer,
    UrlSerializer,
    read_texts,
    read_upload,
    read_url,
)
from .results import IngestAnswerSerializer, first_failure
from .taking import FAILED, UNFINISHED, require_any, take
from .uploads import UploadParser

_TOO_LONG = "wait was reduced to {} seconds, the maximum of this server (INGEST_MAX_WAIT)."


class IngestView(APIView):
    rate_class = "ingest"
    parser_classes = [UploadParser, ShallowJSONParser]

    @extend_schema(
        operation_id="ingest",
        request={
            "multipart/form-data": UploadSerializer,
            "application/json": PolymorphicProxySerializer(
                "TextsOrUrl", [TextsSerializer, UrlSerializer], resource_type_field_name=None
            ),
        },
        parameters=[idempotency.PARAMETER],
        responses={200: IngestAnswerSerializer, 202: IngestAnswerSerializer},
    )
    @idempotency.idempotent
    def post(self, request: Request) -> Response:
        """Upload documents. Returns 202 if work is queued, 200 if everything is done or part of a
        batch was rejected, 4xx if nothing was accepted."""
        submissions, wait = _reader(request)(request.data)
        namespace_id = caller_of(request).namespace_id
        slot = waiting(request.headers["Authorization"])
        results = take(namespace_id, submissions, wait=wait, slot=slot)
        require_any(results)
        longest = settings.INGEST_MAX_WAIT
        return _answer(namespace_id, results, [_TOO_LONG.format(longest)] if wait > longest else [])


def _reader(request: Request) -> Callable[[Any], tuple[list[Submission | IngestError], float]]:
    if request.content_type.startswith("multipart/"):
        return read_upload
    is_url = isinstance(request.data, dict) and "url" in request.data
    return read_url if is_url else read_texts


def _answer(
    namespace_id: uuid.UUID, results: list[dict[str, Any]], warnings: list[str]
) -> Response:
    with namespace(namespace_id):
        slug = Namespace.objects.values_list("slug", flat=True).get()
    statuses = [result["status"] for result in results]
    failed = sum(status in FAILED for status in statuses)
    is_unfinished = any(status in UNFINISHED for status in statuses)
    body = {
        "failed": failed,
        "error": first_failure(results),
        "warnings": warnings,
        "namespace": slug,
        "indexed": statuses.count(Document.Status.READY),
        "results": results,
    }
    return Response(body, status=202 if is_unfinished and not failed else 200)
