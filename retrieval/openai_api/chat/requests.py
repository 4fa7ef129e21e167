"""The body of POST /v1/chat/completions: its validation, and the request made from it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from documents.api.fields import TextField
from documents.api.serializers import StrictSerializer
from documents.metadata import text as cleaned
from retrieval.answering.requests import AnswerRequest
from retrieval.api.answers.serializers import MAX_STOPS
from retrieval.api.filters import FiltersField
from retrieval.api.memory.requests import IncludeFactsField
from retrieval.openai_api.asking import (
    MAX_METADATA,
    REASONS,
    ROLES,
    InputTurn,
    answer_request,
    role_of,
    supported_options,
    text_of,
    without_effect,
)
from retrieval.openai_api.views import invalid_parameter, unsupported_parameter

MAX_MESSAGES = 1000
MESSAGE_FIELDS = frozenset({"role", "content", "name"})
# Parts of an earlier answer that clients send back unchanged.
ANSWERED_FIELDS = frozenset({"annotations", "refusal", "audio", "function_call", "tool_calls"})
LIMITS = ("max_completion_tokens", "max_tokens")
OPTIONS = ("temperature", "stop", "filters", "k", "include_facts")  # as in POST /answer
NEUTRAL: Mapping[str, Sequence[Any]] = {
    "audio": (),
    "frequency_penalty": (0,),
    "function_call": ("none", "auto"),
    "functions": ([],),
    "logit_bias": ({},),
    "logprobs": (False,),
    "modalities": (["text"],),
    "n": (1,),
    "parallel_tool_calls": (True, False),
    "prediction": (),
    "presence_penalty": (0,),
    "reasoning_effort": (),
    "response_format": ({"type": "text"},),
    "seed": (),
    "service_tier": ("auto", "default"),
    "store": (False,),
    "tool_choice": ("none", "auto"),
    "tools": ([],),
    "top_logprobs": (0,),
    "top_p": (1,),
    "verbosity": (),
    "web_search_options": (),
}


@extend_schema_field(
    {
        "type": "object",
        "properties": {
            "role": {"type": "string", "enum": list(ROLES)},
            "content": {
                "description": "Text, or a list of parts of type `text`.",
                "oneOf": [
                    {"type": "string"},
                    {"type": "array", "items": {"type": "object"}},
                    {"type": "null"},
                ],
            },
            "name": {"type": "string"},
        },
        "required": ["role"],
    }
)
class MessageField(serializers.JSONField):
    """Validated by `_turn`, whose errors name the position of the mistake."""


@extend_schema_field(
    {
        "oneOf": [
            {"type": "string", "maxLength": 100},
            {"type": "array", "items": {"type": "string", "maxLength": 100}, "maxItems": MAX_STOPS},
        ]
    }
)
class StopField(serializers.Field):
    """A text, or several, at which the model stops writing."""

    def to_internal_value(self, data: Any) -> list[str]:
        child = TextField(max_length=100, trim_whitespace=False)
        stops = serializers.ListField(child=child, max_length=MAX_STOPS)
        return list(stops.run_validation([data] if isinstance(data, str) else data))

    def to_representation(self, value: Any) -> Any:
        return value


class CheckedIncludeFactsField(IncludeFactsField):
    """Checked here, so that errors name the parameter; POST /answer reads it again."""

    def to_internal_value(self, data: Any) -> Any:
        super().to_internal_value(data)
        return data


class StreamOptionsSerializer(StrictSerializer):
    include_usage = serializers.BooleanField(
        default=False, help_text="A last chunk without choices says how many tokens were used."
    )
    include_obfuscation = serializers.BooleanField(
        default=False, help_text="Only false is accepted: no padding is added to the chunks."
    )


class ChatCompletionRequestSerializer(StrictSerializer):
    model = serializers.CharField(max_length=200, help_text="As in `GET /v1/models`.")
    messages = serializers.ListField(
        child=MessageField(),
        min_length=1,
        max_length=MAX_MESSAGES,
        help_text="The last one is the user's question; those before are the conversation. "
        "System messages may ask for a style and form.",
    )
    stream = serializers.BooleanField(default=False)
    stream_options = StreamOptionsSerializer(required=False, help_text="Only with `stream`.")
    temperature = serializers.FloatField(required=False, min_value=0, max_value=2)
    max_completion_tokens = serializers.IntegerField(required=False, min_value=1, max_value=100_000)
    max_tokens = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=100_000,
        help_text="The older name of `max_completion_tokens`.",
    )
    stop = StopField(required=False)
    user = without_effect()
    safety_identifier = without_effect()
    prompt_cache_key = without_effect()
    metadata = serializers.DictField(
        child=serializers.CharField(max_length=512, allow_blank=True),
        required=False,
        help_text="Accepted, and not kept.",
    )
    filters = FiltersField(required=False, help_text="Of this service: as in `POST /answer`.")
    k = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=100,
        help_text="Of this service: how many passages to answer from.",
    )
    include_facts = CheckedIncludeFactsField(
        required=False, help_text="Of this service: facts from memory, too, as in `POST /answer`."
    )

    def validate(self, fields: dict[str, Any]) -> dict[str, Any]:
        options = fields.get("stream_options")
        if options is not None and not fields["stream"]:
            raise invalid_parameter("stream_options", "stream_options is only for streams.")
        if options and options["include_obfuscation"]:
            raise unsupported_parameter("stream_options.include_obfuscation")
        limits = {
            fields[name] for name in ("max_tokens", "max_completion_tokens") if name in fields
        }
        if len(limits) > 1:
            raise invalid_parameter("max_tokens", "max_tokens contradicts max_completion_tokens.")
        if len(fields.get("metadata", {})) > MAX_METADATA:
            raise invalid_parameter("metadata", f"metadata can have at most {MAX_METADATA} keys.")
        return fields


_REQUEST = ChatCompletionRequestSerializer()
_KNOWN = frozenset(_REQUEST.fields)


@dataclass(frozen=True, slots=True)
class ChatCompletionRequest:
    model: str  # as the client named it
    asked: AnswerRequest
    is_stream: bool
    includes_usage: bool


def chat_request_of(data: Any) -> ChatCompletionRequest:
    """Raises ValidationError or ApiError, which name the invalid parameter."""
    fields = _REQUEST.run_validation(supported_options(data, known=_KNOWN, neutral=NEUTRAL))
    options = {name: fields[name] for name in OPTIONS if name in fields}
    limit = fields.get("max_completion_tokens", fields.get("max_tokens"))
    asked = answer_request(
        [_turn(message, f"messages.{n}") for n, message in enumerate(fields["messages"])],
        param="messages",
        model=fields["model"],
        options={**options, "max_tokens": limit},
    )
    return ChatCompletionRequest(
        model=fields["model"],
        asked=asked,
        is_stream=fields["stream"],
        includes_usage=fields.get("stream_options", {}).get("include_usage", False),
    )


def _turn(message: Any, param: str) -> InputTurn:
    role = role_of(message, param)
    known = MESSAGE_FIELDS | (ANSWERED_FIELDS if role == "assistant" else frozenset())
    for name, value in message.items():
        is_empty = value is None or value == []
        if name not in known or (name in ANSWERED_FIELDS - {"annotations"} and not is_empty):
            raise unsupported_parameter(f"{param}.{cleaned(name)[:50]}", REASONS.get(name, ""))
    content = message.get("content")
    if content is None and role == "assistant":
        content = ""
    text = text_of(content, f"{param}.content", part_types=("text",))
    return InputTurn(role, text, f"{param}.content")
