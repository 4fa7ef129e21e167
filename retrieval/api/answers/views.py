"""POST /answer: answer a question with checked citations, as one response or as events."""

from typing import Any

from django.http import HttpResponseBase
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from documents.api.views import caller_of, check_parameters
from documents.language_models.base import LanguageModelFailed
from ragsite.web.guards.stream_limit import waiting
from ragsite.web.rendering import IgnoreAcceptHeader
from ragsite.web.streaming import event_stream
from retrieval.answering import answer as pipeline
from retrieval.answering.requests import AnswerRequest, PromptPreview

from .events import answer_events
from .runs import AnswerRun, as_api_error, whole_answer
from .serializers import (
    AnswerRequestSerializer,
    AnswerSerializer,
    PromptSerializer,
    answer_request_of,
)
from .shapes import shape_of_answer, shape_of_source

ERROR = {"$ref": "#/components/schemas/Error"}
FAILURES = {
    502: OpenApiResponse(
        ERROR,
        description="The language model failed: `language_model_failed`, "
        "`language_model_refused`, `language_model_bad_response`, `language_model_broke_off`.",
    ),
    503: OpenApiResponse(
        ERROR,
        description="`language_model_unavailable`, `cost_cap`, `busy` (too many answers at once), "
        "`shutting_down`, or the database cannot be reached; try again shortly.",
    ),
    504: OpenApiResponse(
        ERROR, description="The answer took too long: `language_model_timeout`, `answer_timeout`."
    ),
}
EVENTS = {
    "type": "object",
    "description": "With `stream`: `sources` (again, if there was a second search), then `delta` "
    'with `{"text"}` and `citation` as they are checked, and at the end exactly one `answer` (the '
    "complete answer, as without `stream`) or `error` (the error envelope). After 15 seconds "
    "without an event there is a comment.",
    "properties": {
        "event": {
            "type": "string",
            "enum": ["sources", "delta", "citation", "answer", "error"],
        },
        "data": {"type": "string", "description": "One line of JSON."},
    },
}
EXAMPLES = [
    OpenApiExample(
        "A question",
        {"query": "How long is the warranty on a lamp?", "k": 5},
        request_only=True,
    ),
    OpenApiExample(
        "A follow-up, streamed",
        {
            "messages": [
                {"role": "user", "content": "How long is the warranty on a lamp?"},
                {"role": "assistant", "content": "It is 3 years."},
                {"role": "user", "content": "And for the battery in the Buoy?"},
            ],
            "stream": True,
        },
        request_only=True,
    ),
]


class AnswerView(APIView):
    scopes = {"POST": "read"}
    rate_class = "answer"
    content_negotiation_class = IgnoreAcceptHeader

    @extend_schema(
        operation_id="answer",
        request=AnswerRequestSerializer,
        responses={
            (200, "application/json"): AnswerSerializer,
            (200, "text/event-stream"): EVENTS,
            **FAILURES,
        },
        examples=EXAMPLES,
    )
    def post(self, request: Request) -> HttpResponseBase:
        """Answer a question. Every citation is checked against the stored text before it is sent.
        All offsets count code points. If the client disconnects, the answer and the call to the
        language model are cancelled."""
        asked, is_stream = answer_request_of(request.data)
        namespace_id = caller_of(request).namespace_id
        if is_stream:
            return stream_of(AnswerRun(namespace_id, asked, door="sse"), asked)
        with waiting(request.headers["Authorization"]):
            result = whole_answer(AnswerRun(namespace_id, asked, door="json"))
        return Response(shape_of_answer(result, query=asked.search.query))


def stream_of(run: AnswerRun, asked: AnswerRequest) -> HttpResponseBase:
    response = event_stream(answer_events(run, asked))
    # A rejected stream is closed before its first event.
    response._resource_closers.append(run.close)  # type: ignore[attr-defined]
    return response


class PromptView(APIView):
    scopes = {"GET": "read", "POST": "read"}
    rate_class = "search"

    @extend_schema(
        operation_id="answer_prompt_of_query",
        parameters=[
            OpenApiParameter("query", str, required=True),
            OpenApiParameter("model", str, description="An alias, as in `POST /answer`."),
        ],
        responses=PromptSerializer,
    )
    def get(self, request: Request) -> Response:
        """Return the prompt for a question. Searches, but does not call the model."""
        check_parameters(request, frozenset({"query", "model"}))
        return self._preview(request, request.query_params.dict())

    @extend_schema(
        operation_id="answer_prompt", request=AnswerRequestSerializer, responses=PromptSerializer
    )
    def post(self, request: Request) -> Response:
        """Return the prompt, with all the fields of `POST /answer`."""
        return self._preview(request, request.data)

    def _preview(self, request: Request, data: Any) -> Response:
        asked, _ = answer_request_of(data)
        try:
            preview = pipeline.prompt_for(caller_of(request).namespace_id, asked)
        except LanguageModelFailed as error:
            raise as_api_error(error) from error
        return Response(_shape(preview))


def _shape(preview: PromptPreview) -> dict[str, Any]:
    return {
        "model": preview.model,
        "messages": [{"role": m.role, "content": m.content} for m in preview.messages],
        "sources": [shape_of_source(evidence) for evidence in preview.evidence],
        "tokens": preview.tokens,
        "template": preview.template,
    }
