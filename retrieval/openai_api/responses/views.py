"""POST /v1/responses: answer a question with citations; nothing is stored."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from asgiref.sync import sync_to_async
from django.http import HttpResponseBase
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from documents.api.views import caller_of
from documents.pages.links import base_url_of
from ragsite.web.guards.stream_limit import waiting
from ragsite.web.streaming import HEARTBEAT_BLOCK, event_block
from retrieval.answering.requests import SourcesEvent
from retrieval.api.answers.events import pipeline_events
from retrieval.api.answers.runs import AnswerRun, whole_answer
from retrieval.openai_api.citing import CitationNumbers
from retrieval.openai_api.streams import error_of, stream_of
from retrieval.openai_api.views import OPENAI_ERRORS, OpenAIView

from .events import ResponseEvents
from .requests import ResponseRequestSerializer, response_request_of
from .serializers import ResponseSerializer
from .shapes import Shape

EVENTS = {
    "type": "object",
    "description": "With `stream`: OpenAI's events in OpenAI's order, each with its "
    "`sequence_number`; the last one is `response.completed`, `response.incomplete` or "
    "`response.failed`.",
    "properties": {
        "event": {"type": "string"},
        "data": {"type": "string", "description": "One line of JSON."},
    },
}
EXAMPLES = [
    OpenApiExample(
        "A question",
        {"model": "ragsite", "input": "How tall is the lighthouse?"},
        request_only=True,
    )
]


class ResponsesView(OpenAIView):
    scopes = {"POST": "read"}
    rate_class = "answer"

    @extend_schema(
        operation_id="openai_responses",
        request=ResponseRequestSerializer,
        responses={
            (200, "application/json"): ResponseSerializer,
            (200, "text/event-stream"): EVENTS,
            **OPENAI_ERRORS,
        },
        examples=EXAMPLES,
    )
    def post(self, request: Request) -> HttpResponseBase:
        """Answer from all documents, or with the tool `file_search` from vector stores. Stateless:
        send the conversation with each request."""
        namespace_id = caller_of(request).namespace_id
        wanted = response_request_of(namespace_id, request.data)
        numbers = CitationNumbers(namespace_id, base_url=base_url_of(request))
        events = ResponseEvents(namespace_id, wanted, numbers)
        run = AnswerRun(namespace_id, wanted.asked, door="openai")
        if wanted.is_stream:
            return stream_of(run, _blocks(run, events))
        with waiting(request.headers["Authorization"]):
            return Response(events.whole(whole_answer(run)))


async def _blocks(run: AnswerRun, response: ResponseEvents) -> AsyncGenerator[bytes]:
    """Ends with exactly one event that states the outcome, unless the client disconnects."""
    try:
        for shape in response.first():
            yield _block(shape)
        async with aclosing(pipeline_events(run)) as events:
            async for event in events:
                if event is None:
                    yield HEARTBEAT_BLOCK
                    continue
                if isinstance(event, SourcesEvent):
                    await sync_to_async(response.read_files)(event.evidence)
                for shape in response.of(event):
                    yield _block(shape)
    except Exception as error:
        yield _block(response.failed(error_of(run, error)["error"]))
    finally:
        run.close()


def _block(shape: Shape) -> bytes:
    return event_block(shape, name=shape["type"])
