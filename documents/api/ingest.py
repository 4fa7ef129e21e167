"""POST /ingest: files by multipart, texts or a URL by JSON; each item is taken on its own."""

import uuid
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

from django.conf import settings
from drf_spectacular.utils import PolymorphicProxySerializer, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from documents import intake, jobs
from documents.archived import expanded
from documents.batches import OnePerSource
from documents.errors import IngestError
from documents.intake import Submission
from documents.models import Document, Namespace
from ragsite.errors import ApiError
from ragsite.parsing import ShallowJSONParser
from ragsite.platform.streams import waiting
from ragsite.tenancy import namespace

from .ingest_requests import (
    TextsSerializer,
    UploadSerializer,
    UrlSerializer,
    read_texts,
    read_upload,
    read_url,
)
from .ingest_results import (
    IngestAnswerSerializer,
    bring_up_to_date,
    first_failure,
    rejection,
    result_of,
)
from .uploads import UploadParser
from .views import caller_of

HTTP_STATUS = {
    "too_large": 413,
    "unsupported_type": 415,
    "type_mismatch": 415,
    "duplicate_content": 409,
    "storage_full": 507,
    "quota_exceeded": 403,
    "same_source_twice": 409,
}
_TOO_LONG = "wait was cut to {} seconds, the most this server waits (INGEST_MAX_WAIT)."


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
        responses={200: IngestAnswerSerializer, 202: IngestAnswerSerializer},
    )
    def post(self, request: Request) -> Response:
        """202 when work is queued, 200 when all is done or part of a batch was refused, 4xx when
        nothing could be taken."""
        submissions, wait = _reader(request)(request.data)
        namespace_id = caller_of(request).namespace_id
        seconds = min(wait, settings.INGEST_MAX_WAIT)
        # The slot comes first: a request that is refused must not have stored anything.
        with waiting(request.headers["Authorization"]) if seconds else nullcontext():
            results = list(_take_all(namespace_id, submissions))
            if all(result["status"] == "rejected" for result in results):
                raise _nothing_taken(results)
            job_ids = [result["job_id"] for result in results if result["job_id"]]
            jobs.wait(namespace_id, job_ids, seconds=seconds)
        warnings = [_TOO_LONG.format(settings.INGEST_MAX_WAIT)] if wait > seconds else []
        return _answer(namespace_id, results, warnings)


def _reader(request: Request) -> Callable[[Any], tuple[list[Submission | IngestError], float]]:
    if request.content_type.startswith("multipart/"):
        return read_upload
    is_url = isinstance(request.data, dict) and "url" in request.data
    return read_url if is_url else read_texts


def _take_all(
    namespace_id: uuid.UUID, items: list[Submission | IngestError]
) -> Iterator[dict[str, Any]]:
    """One result for each document: the files of an archive share their index."""
    batch = OnePerSource()
    for index, item in enumerate(items):
        if isinstance(item, IngestError):
            yield rejection(index, item)
            continue
        for submission, trouble in expanded(item):
            try:
                if trouble is not None:
                    raise trouble
                batch.check(submission)
                yield result_of(index, intake.accept(namespace_id, submission))
            except IngestError as error:
                yield rejection(index, error, source_uri=intake.identity(submission))


def _nothing_taken(results: list[dict[str, Any]]) -> ApiError:
    codes = {result["error"]["code"] for result in results}
    code = codes.pop() if len(codes) == 1 else "nothing_taken"
    message = results[0]["error"]["message"]
    if len(results) > 1:
        message = f"None of the {len(results)} documents could be taken; the first: {message}"
    http_status = HTTP_STATUS.get(code, 422)
    details = {**results[0]["error"]["details"], "results": results}
    return ApiError(code, message, http_status=http_status, details=details)


def _answer(
    namespace_id: uuid.UUID, results: list[dict[str, Any]], warnings: list[str]
) -> Response:
    with namespace(namespace_id):
        bring_up_to_date(results)
        slug = Namespace.objects.values_list("slug", flat=True).get()
    statuses = [result["status"] for result in results]
    failed = sum(status in ("rejected", Document.Status.FAILED) for status in statuses)
    waiting = any(s in (Document.Status.QUEUED, Document.Status.PROCESSING) for s in statuses)
    body = {
        "failed": failed,
        "error": first_failure(results),
        "warnings": warnings,
        "namespace": slug,
        "indexed": statuses.count(Document.Status.READY),
        "results": results,
    }
    return Response(body, status=202 if waiting and not failed else 200)
