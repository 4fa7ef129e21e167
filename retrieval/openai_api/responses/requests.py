"""The body of POST /v1/responses: its validation, and the request made from it."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from documents.api.serializers import StrictSerializer
from retrieval.answering.requests import AnswerRequest
from retrieval.api.filters import FiltersField
from retrieval.openai_api.asking import (
    MAX_METADATA,
    InputTurn,
    answer_request,
    role_of,
    supported_options,
    text_of,
    without_effect,
)
from retrieval.openai_api.views import invalid_parameter, unsupported_parameter

from .file_search import FileSearch, FileSearchToolSerializer, file_search_of, within_stores

MAX_ITEMS = 1000
RESULTS = "file_search_call.results"
ITEM_FIELDS = frozenset({"type", "role", "content", "id", "status", "phase"})
PART_TYPES = {"assistant": ("output_text", "text")}
FILE_SEARCH = {"type": "file_search"}
NEUTRAL: Mapping[str, Sequence[Any]] = {
    "background": (False,),
    "conversation": (),
    "max_tool_calls": (),
    "parallel_tool_calls": (True, False),
    "previous_response_id": (),
    "prompt": (),
    "reasoning": ({},),
    "service_tier": ("auto", "default"),
    "store": (False,),
    "stream_options": ({}, {"include_obfuscation": False}),
    "text": ({}, {"format": {"type": "text"}}),
    "tool_choice": ("auto", "required", FILE_SEARCH),
    "top_logprobs": (0,),
    "top_p": (1,),
    "truncation": ("auto", "disabled"),
}


@extend_schema_field(
    {
        "oneOf": [
            {"type": "string", "minLength": 1},
            {
                "type": "array",
                "items": {"type": "object"},
                "minItems": 1,
                "maxItems": MAX_ITEMS,
                "description": "Messages, the last one the user's question. Items of earlier "
                "responses can be sent back as they came.",
            },
        ]
    }
)
class ResponseInputField(serializers.JSONField):
    """Validated by `_turns`, whose errors name the position of the mistake."""


class ResponseRequestSerializer(StrictSerializer):
    model = serializers.CharField(max_length=200, help_text="As in `GET /v1/models`.")
    input = ResponseInputField()
    instructions = serializers.CharField(
        default="", allow_blank=True, help_text="Wishes about style and form."
    )
    stream = serializers.BooleanField(default=False)
    temperature = serializers.FloatField(required=False, min_value=0, max_value=2)
    max_output_tokens = serializers.IntegerField(required=False, min_value=1, max_value=100_000)
    tools = FileSearchToolSerializer(
        many=True,
        required=False,
        help_text="One `file_search`: the vector stores to answer from. Without it, from all "
        "documents.",
    )
    include = serializers.ListField(
        child=serializers.ChoiceField(choices=[RESULTS]), required=False, max_length=10
    )
    user = without_effect()
    safety_identifier = without_effect()
    prompt_cache_key = without_effect()
    metadata = serializers.DictField(
        child=serializers.CharField(max_length=512, allow_blank=True),
        required=False,
        help_text="Sent back with the response, and not kept.",
    )
    filters = FiltersField(
        required=False,
        help_text="Of this service: as in `POST /answer`. Not with `tools`.",
    )
    k = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=100,
        help_text="Of this service: how many passages to answer from. Not with `tools`.",
    )

    def validate(self, fields: dict[str, Any]) -> dict[str, Any]:
        if len(fields.get("metadata", {})) > MAX_METADATA:
            raise invalid_parameter("metadata", f"metadata can have at most {MAX_METADATA} keys.")
        return fields


_REQUEST = ResponseRequestSerializer()
_KNOWN = frozenset(_REQUEST.fields)


@dataclass(frozen=True, slots=True)
class ResponseRequest:
    asked: AnswerRequest
    is_stream: bool
    fields: Mapping[str, Any]  # validated, to be sent back
    file_search: FileSearch | None
    includes_results: bool


def response_request_of(namespace_id: uuid.UUID, data: Any) -> ResponseRequest:
    """Raises ValidationError or ApiError, which name the invalid parameter."""
    options = supported_options(data, known=_KNOWN, neutral=NEUTRAL)
    tool = file_search_of(options.pop("tools", []))
    _check_tool_choice(data, tool, options)
    fields = _REQUEST.run_validation(options)
    wanted = {name: fields[name] for name in ("temperature", "filters", "k") if name in fields}
    asked = answer_request(
        _turns(fields["input"]),
        param="input",
        model=fields["model"],
        instructions=fields["instructions"],
        options={
            **wanted,
            **(tool.options if tool else {}),
            "max_tokens": fields.get("max_output_tokens"),
        },
    )
    return ResponseRequest(
        asked=within_stores(namespace_id, asked, tool) if tool else asked,
        is_stream=fields["stream"],
        fields=fields,
        file_search=tool,
        includes_results=RESULTS in fields.get("include", ()),
    )


def _check_tool_choice(data: Any, tool: FileSearch | None, options: Mapping[str, Any]) -> None:
    choice = data.get("tool_choice")
    if tool is None and choice not in (None, "auto"):
        raise invalid_parameter("tool_choice", "tool_choice needs a tool to choose.")
    for name in ("filters", "k"):
        if tool is not None and name in options:
            raise invalid_parameter(name, f"{name} cannot be combined with the tool's own options.")


def _turns(given: Any) -> list[InputTurn]:
    if isinstance(given, str):
        return [InputTurn("user", text_of(given, "input", part_types=()), "input")]
    if not isinstance(given, list) or not 0 < len(given) <= MAX_ITEMS:
        raise invalid_parameter("input", f"input must be text, or 1 to {MAX_ITEMS} messages.")
    found = (_turn(item, f"input.{number}") for number, item in enumerate(given))
    return [turn for turn in found if turn is not None]


def _turn(item: Any, param: str) -> InputTurn | None:
    """Return None for the search results of an earlier question: if needed, they are searched for
    again."""
    kind = item.get("type", "message") if isinstance(item, dict) else "message"
    if kind == "file_search_call":
        return None
    if kind != "message":
        raise unsupported_parameter(f"{param}.type", "Only messages can be sent.")
    role = role_of(item, param)
    for name in item:
        if name not in ITEM_FIELDS:
            raise unsupported_parameter(f"{param}.{name}")
    parts = PART_TYPES.get(role, ("input_text", "text"))
    text = text_of(item.get("content"), f"{param}.content", part_types=parts)
    return InputTurn(role, text, f"{param}.content")
