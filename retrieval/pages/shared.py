"""GET /s/{key}: asking through a namespace's public link; POST /s/{key}/answer: the answer.

Visitors can ask and read cited passages, and nothing else. The key in the address is the only
credential: there is no session and no cookie, so other sites cannot abuse one.
"""

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe
from rest_framework import serializers
from rest_framework.exceptions import MethodNotAllowed

from documents.api.serializers import StrictSerializer
from documents.pages.links import SharedVia, base_url_of
from documents.pages.opening import GONE, HEADERS, NotOpened, open_public_link
from documents.pages.passage import refusal_page, shared_name
from documents.pages.people import json_body, refused
from ragsite.access.rate_limits import RateLimited
from ragsite.platform.errors import ApiError
from ragsite.web.streaming import event_stream
from retrieval.api.answers.events import answer_events
from retrieval.api.answers.runs import AnswerRun
from retrieval.api.answers.serializers import answer_request_of

from .ask import PassageLinks, linked

MAX_BODY = 60_000  # bytes of a question and its conversation: below the limit for unknown callers


class _Turn(StrictSerializer):
    role = serializers.ChoiceField(choices=["user", "assistant"])
    content = serializers.CharField(max_length=16_000)


class _SharedQuestion(StrictSerializer):
    """A question and the conversation before it: visitors choose no models and no settings."""

    query = serializers.CharField(max_length=2000)
    messages = _Turn(many=True, required=False)


@require_safe
def shared_ask(request: HttpRequest, key: str) -> HttpResponse:
    try:
        link = open_public_link(request, key)
    except NotOpened as error:
        return refusal_page(request, error.status, is_public=True)
    except RateLimited as error:
        return refusal_page(request, error.status_code, is_public=True)
    context = {"shared_name": shared_name(link), "key": key, "max_body": MAX_BODY}
    response = render(request, "pages/shared_ask.html", context)
    for name, value in HEADERS.items():
        response[name] = value
    return response


@csrf_exempt
def shared_answer(request: HttpRequest, key: str) -> HttpResponseBase:
    """Stream the events of POST /api/v1/answer; links open passages through this public link
    only."""
    try:
        response = _answered(request, key)
    except NotOpened as error:
        response = refused(_not_opened(error))
    except Exception as error:
        response = refused(error)
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    return response


def _answered(request: HttpRequest, key: str) -> HttpResponseBase:
    link = open_public_link(request, key)
    if request.method != "POST":
        raise MethodNotAllowed(str(request.method))
    form = _SharedQuestion(data=json_body(request))
    form.is_valid(raise_exception=True)
    asked, _ = answer_request_of({**form.validated_data, "stream": True})
    run = AnswerRun(link.namespace_id, asked, door="link")
    links = PassageLinks(
        link.namespace_id, base_url=base_url_of(request), shared=SharedVia(link.pk, key)
    )
    response = event_stream(linked(answer_events(run, asked), links))
    response._resource_closers.append(run.close)  # type: ignore[attr-defined]
    return response


def _not_opened(error: NotOpened) -> ApiError:
    if error.status == GONE:
        return ApiError("link_expired", "This link no longer works.", http_status=error.status)
    return ApiError("not_found", "This link leads nowhere.", http_status=error.status)
