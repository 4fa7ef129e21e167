"""POST /library/upload and /library/url: add documents, as POST /ingest does."""

from contextlib import nullcontext
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.http import HttpRequest, HttpResponseBase, JsonResponse, QueryDict

from documents.api.ingest.requests import read_upload, read_url
from documents.api.ingest.taking import require_any, take
from documents.errors import IngestError
from documents.intake.submissions import Submission
from documents.models import Namespace
from documents.pages.people import find_namespace, form_view, json_view

OF_THE_PAGE = ("namespace", "csrfmiddlewaretoken")  # fields that the intake does not accept


@form_view
def upload(request: HttpRequest, user: AbstractBaseUser, data: QueryDict) -> HttpResponseBase:
    namespace = find_namespace(user, data.get("namespace"))
    for name in OF_THE_PAGE:
        data.pop(name, None)
    submissions, _ = read_upload(data)
    return _taken(namespace, submissions)


@json_view
def add_url(request: HttpRequest, user: AbstractBaseUser, data: dict[str, Any]) -> HttpResponseBase:
    """The page is fetched within the request, so that users see at once if that fails."""
    namespace = find_namespace(user, data.pop("namespace", None))
    submissions, _ = read_url(data)
    return _taken(namespace, submissions)


def _taken(namespace: Namespace, submissions: list[Submission | IngestError]) -> HttpResponseBase:
    results = take(namespace.pk, submissions, wait=0, slot=nullcontext())
    require_any(results)
    return JsonResponse({"results": results}, status=202)
