"""POST /v1/chat/completions: answer a conversation with numbered citations."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from django.http import HttpResponseBase
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from documents.api.views import caller_of
from documents.pages.links import base_url_of
from ragsite.web.guards.stream_limit import waiting
from ragsite.web.streaming import HEARTBEAT_BLOCK, event_block
from retrieval.api.answers.events import pipeline_events
from retrieval.api.answers.runs import AnswerRun, whole_answer
from retrieval.openai_api.citing import CitationNumbers
from retrieval.openai_api.streams import error_of, stream_of
from retrieval.openai_api.views import OPENAI_ERRORS, OpenAIView

from .requests import ChatCompletionRequestSerializer, chat_request_of
from .shapes import ChatCompletion, ChatCompletionSerializer

DONE = b"data: [DONE]\n\n"
CHUNKS = {
    "type": "object",
    "description": "With `stream`: every `data` is a `chat.completion.chunk`, the last one is "
    "`[DONE]`. Annotations come in `delta.annotations`, beside the text they belong to. An error "
    "is an event with `error`, and the last.",
    "properties": {"data": {"type": "string", "description": "One line of JSON."}},
}
EXAMPLES = [
    OpenApiExample(
        "A question",
        {
            "model": "ragsite",
            "messages": [{"role": "user", "content": "How tall is the lighthouse?"}],
        },
        request_only=True,
    )
]


class ChatCompletionsView(OpenAIView):
    scopes = {"POST": "read"}
    rate_class = "answer"

    @extend_schema(
        operation_id="openai_chat_completions",
        request=ChatCompletionRequestSerializer,
        responses={
            (200, "application/json"): ChatCompletionSerializer,
            (200, "text/event-stream"): CHUNKS,
            **OPENAI_ERRORS,
        },
        examples=EXAMPLES,
    )
    def post(self, request: Request) -> HttpResponseBase:
        """Answer the last message from the documents, in the format of OpenAI's API. Options
        without a meaning here are refused."""
        chat = chat_request_of(request.data)
        namespace_id = caller_of(request).namespace_id
        numbers = CitationNumbers(namespace_id, base_url=base_url_of(request))
        completion = ChatCompletion(chat.model, numbers, includes_usage=chat.includes_usage)
        run = AnswerRun(namespace_id, chat.asked, door="openai")
        if chat.is_stream:
            return stream_of(run, _blocks(run, completion))
        with waiting(request.headers["Authorization"]):
            return Response(completion.whole(whole_answer(run)))


async def _blocks(run: AnswerRun, completion: ChatCompletion) -> AsyncGenerator[bytes]:
    """Ends with `[DONE]` or one error, unless the client disconnects."""
    try:
        yield event_block(completion.first())
        async with aclosing(pipeline_events(run)) as events:
            async for event in events:
                if event is None:
                    yield HEARTBEAT_BLOCK
                    continue
                for chunk in completion.chunks(event):
                    yield event_block(chunk)
        yield DONE
    except Exception as error:
        yield event_block(error_of(run, error))
    finally:
        run.close()
