"""Chat completions and their chunks as plain data, and as the schema describes them."""

import time
import uuid
from collections.abc import Iterator, Sequence
from typing import Any

from rest_framework import serializers

from documents.api.serializers import SpanSerializer
from documents.language_models.base import Usage
from retrieval.answering.requests import AnswerEvent, AnswerResult, CheckedText, Event, TextEvent
from retrieval.api.hit_shapes import FACT, OF_PASSAGES, FactNoteSerializer
from retrieval.openai_api.citing import CitationNumbers, NumberedCitation

FINISH_REASONS = {"length": "length", "refused": "content_filter"}  # anything else: stop

Shape = dict[str, Any]


class ChatCompletion:
    """One completion: whole, or in chunks that share its id."""

    def __init__(self, model: str, numbers: CitationNumbers, *, includes_usage: bool) -> None:
        self._head = {
            "id": f"chatcmpl-{uuid.uuid4().hex}",
            "created": int(time.time()),
            "model": model,
        }
        self._numbers = numbers
        self._includes_usage = includes_usage
        self._annotations = 0

    def whole(self, result: AnswerResult) -> Shape:
        content, cited = self._numbers.feed(CheckedText(result.text, result.citations))
        message = {
            "role": "assistant",
            "content": content,
            "refusal": None,
            "annotations": [_annotation(one) for one in cited],
        }
        choice = {
            "index": 0,
            "message": message,
            "logprobs": None,
            "finish_reason": _finish_reason(result),
        }
        return {
            **self._head,
            "object": "chat.completion",
            "choices": [choice],
            "usage": usage_of(result.usage),
        }

    def first(self) -> Shape:
        return self._chunk({"role": "assistant", "content": ""})

    def chunks(self, event: Event) -> Iterator[Shape]:
        match event:
            case TextEvent(checked):
                text, cited = self._numbers.feed(checked)
                if text or cited:
                    yield self._chunk(self._delta(text, cited))
            case AnswerEvent(result):
                yield self._chunk({}, finish=_finish_reason(result))
                if self._includes_usage:
                    usage = usage_of(result.usage)
                    yield {**self._chunk({}), "choices": [], "usage": usage}

    def _delta(self, text: str, cited: Sequence[NumberedCitation]) -> Shape:
        """The official client's accumulator requires an index in every entry of a list."""
        if not cited:
            return {"content": text}
        first, self._annotations = self._annotations, self._annotations + len(cited)
        entries = [{"index": n, **_annotation(one)} for n, one in enumerate(cited, start=first)]
        return {"content": text, "annotations": entries}

    def _chunk(self, delta: Shape, *, finish: str | None = None) -> Shape:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        chunk = {**self._head, "object": "chat.completion.chunk", "choices": [choice]}
        return {**chunk, "usage": None} if self._includes_usage else chunk


def usage_of(usage: Usage) -> Shape:
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.prompt_tokens + usage.completion_tokens,
    }


def _finish_reason(result: AnswerResult) -> str:
    return FINISH_REASONS.get(result.finish, "stop")


def _annotation(cited: NumberedCitation) -> Shape:
    citation = {
        "url": cited.target.url,
        "title": cited.target.title,
        "start_index": cited.start,
        "end_index": cited.end,
        **cited.place,
    }
    return {"type": "url_citation", "url_citation": citation}


class PlaceSerializer(serializers.Serializer):
    """The position of a citation: the fields we add to OpenAI's annotations."""

    quote = serializers.CharField(help_text="The document's text from `span.start` to `span.end`.")
    span = SpanSerializer()
    answer_span = SpanSerializer(help_text="The text that it supports, in the content.")
    document_id = serializers.UUIDField(allow_null=True, help_text=OF_PASSAGES)
    document_version = serializers.IntegerField(allow_null=True, help_text=OF_PASSAGES)
    fact = FactNoteSerializer(allow_null=True, help_text=FACT)
    page = serializers.IntegerField(allow_null=True)
    section = serializers.CharField()
    source_uri = serializers.CharField()


class UrlCitationSerializer(PlaceSerializer):
    url = serializers.CharField(
        help_text="Opens the document's page at the highlighted quote; of a fact, what it is from."
    )
    title = serializers.CharField()
    start_index = serializers.IntegerField(help_text="Of the number `[1]` in the content.")
    end_index = serializers.IntegerField(help_text="One past its last code point.")


class ChatAnnotationSerializer(serializers.Serializer):
    type = serializers.CharField(help_text="Always `url_citation`.")
    url_citation = UrlCitationSerializer()


class ChatMessageSerializer(serializers.Serializer):
    role = serializers.CharField(help_text="Always `assistant`.")
    content = serializers.CharField(help_text="With numbers `[1]` after each cited claim.")
    refusal = serializers.CharField(allow_null=True)
    annotations = ChatAnnotationSerializer(many=True)


class ChatChoiceSerializer(serializers.Serializer):
    index = serializers.IntegerField()
    message = ChatMessageSerializer()
    logprobs = serializers.JSONField(allow_null=True)
    finish_reason = serializers.ChoiceField(choices=["stop", "length", "content_filter"])


class ChatUsageSerializer(serializers.Serializer):
    prompt_tokens = serializers.IntegerField()
    completion_tokens = serializers.IntegerField()
    total_tokens = serializers.IntegerField()


class ChatCompletionSerializer(serializers.Serializer):
    id = serializers.CharField()
    object = serializers.CharField(help_text="Always `chat.completion`.")
    created = serializers.IntegerField()
    model = serializers.CharField()
    choices = ChatChoiceSerializer(many=True)
    usage = ChatUsageSerializer(help_text="0 if no language model was called.")
