"""`Idempotency-Key` on routes that accept documents: a repeated request is carried out only
once."""

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

from django.core.files.uploadedfile import UploadedFile
from django.http import QueryDict
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request
from rest_framework.response import Response

from documents.intake import idempotency, originals
from documents.intake.idempotency import EarlierAnswer
from ragsite.platform.errors import ApiError

from .views import caller_of

HEADER = "Idempotency-Key"
REPLAYED = "Idempotency-Replayed"
RETRY_AFTER = 2  # seconds
_KEY = re.compile(r"[\x21-\x7e]{1,255}")

PARAMETER = OpenApiParameter(
    HEADER,
    str,
    OpenApiParameter.HEADER,
    description="1 to 255 visible ASCII characters, chosen by the client. The same request sent "
    "again within 24 hours gets the same answer and changes nothing; with another body it is "
    "refused with 422 `idempotency_mismatch`.",
)

Handler = Callable[..., Response]


def idempotent(handler: Handler) -> Handler:
    """Answer a repeated request with the first one's answer, if it has an Idempotency-Key."""

    @wraps(handler)
    def wrapped(view: Any, request: Request, *args: Any, **kwargs: Any) -> Response:
        if HEADER not in request.headers:
            return handler(view, request, *args, **kwargs)
        begun = _begin(request)
        if isinstance(begun, EarlierAnswer):
            return Response(begun.body, status=begun.status, headers={REPLAYED: "true"})
        try:
            response = handler(view, request, *args, **kwargs)
            body = json.loads(json.dumps(response.data, default=str))
            idempotency.finish(begun, status=response.status_code, body=body)
        except BaseException:
            idempotency.give_up(begun)
            raise
        return response

    return wrapped


def _begin(request: Request) -> idempotency.RequestClaim | EarlierAnswer:
    key = request.headers[HEADER]
    if not _KEY.fullmatch(key):
        raise ApiError(
            "invalid_idempotency_key",
            f"{HEADER} has 1 to 255 visible ASCII characters.",
            http_status=400,
        )
    caller = caller_of(request)
    try:
        return idempotency.begin(
            caller.namespace_id, caller=caller.key_id, key=key, fingerprint=_fingerprint(request)
        )
    except idempotency.KeyReused:
        raise ApiError(
            "idempotency_mismatch",
            f"This {HEADER} was used for another request.",
            http_status=422,
        ) from None
    except idempotency.InProgress:
        raise ApiError(
            "idempotency_in_progress",
            f"The first request with this {HEADER} has not been answered yet.",
            http_status=409,
            retry_after=RETRY_AFTER,
        ) from None


def _fingerprint(request: Request) -> str:
    """Return a digest of the route and the content; boundaries of multipart bodies are ignored."""
    digest = hashlib.sha256(f"{request.method} {request.path}\n".encode())
    for part in _parts(request.data):
        digest.update(hashlib.sha256(part.encode("utf-8", "surrogatepass")).digest())
    return digest.hexdigest()


def _parts(data: Any) -> Iterator[str]:
    if not isinstance(data, QueryDict):
        yield json.dumps(data, sort_keys=True)
        return
    for name, values in sorted(data.lists()):
        for value in values:
            yield f"{name}\0{_of_file(value) if isinstance(value, UploadedFile) else value}"


def _of_file(file: UploadedFile) -> str:
    file.seek(0)
    digest = originals.digest_of(file)
    file.seek(0)
    return f"{file.name}\0{file.content_type}\0{digest}"
