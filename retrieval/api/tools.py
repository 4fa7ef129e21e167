"""GET /tools: the tools for agents, as JSON Schema; POST /tools/{name}: call a tool."""

from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from documents.api.serializers import StrictSerializer
from documents.api.views import caller_of, check_parameters
from ragsite.access.rate_limits import RateLimited
from ragsite.platform.logs import current_request_id
from ragsite.web.rendering import IgnoreAcceptHeader
from retrieval.tools.base import ToolContext
from retrieval.tools.calling import call_tool
from retrieval.tools.registry import FORMATS, definitions, tools_for

_ANY_OBJECT = {"type": "object", "additionalProperties": True}


class ToolSerializer(serializers.Serializer):
    name = serializers.CharField()
    title = serializers.CharField()
    description = serializers.CharField(help_text="Description for a language model.")
    input_schema = serializers.DictField(help_text="JSON Schema, draft 2020-12.")
    scope = serializers.ChoiceField(choices=["read", "write"])
    is_read_only = serializers.BooleanField()
    is_destructive = serializers.BooleanField()


class ToolListSerializer(serializers.Serializer):
    tools = ToolSerializer(many=True, help_text="With `format`, in the provider's format instead.")


@extend_schema_field(_ANY_OBJECT)
class ArgumentsField(serializers.Field):
    """Accepts any fields: the tool's own schema decides."""

    def to_internal_value(self, data: Any) -> Any:
        return data


class ToolCallSerializer(StrictSerializer):
    arguments = ArgumentsField(default=dict, help_text="As defined by the tool's `input_schema`.")


class ToolResultSerializer(serializers.Serializer):
    name = serializers.CharField()
    result = serializers.DictField(help_text="The content depends on the tool: docs/tools.md.")
    cached = serializers.BooleanField(
        help_text="Whether it is the cached result of an equal call; nothing has changed since."
    )
    latency_ms = serializers.FloatField()


def context_of(request: Request) -> ToolContext:
    caller = caller_of(request)
    return ToolContext(
        caller.namespace_id, caller.key_id, caller.scopes, request_id=current_request_id()
    )


class ToolListView(APIView):
    rate_class = "read"
    scopes = {"GET": None}  # each caller sees the tools it may use
    content_negotiation_class = IgnoreAcceptHeader  # ?format= does not select a renderer here

    @extend_schema(
        operation_id="tools_list",
        parameters=[
            OpenApiParameter(
                "format",
                str,
                enum=FORMATS,
                default="ragsite",
                description="`openai` or `anthropic`: the format of tool definitions in their "
                "APIs.",
            )
        ],
        responses=ToolListSerializer,
    )
    def get(self, request: Request) -> Response:
        """List the tools this key may use; without the scope `write`, only those that read."""
        check_parameters(request, frozenset({"format"}), {"format": FORMATS})
        wanted = request.query_params.get("format", "ragsite")
        tools = tools_for(context_of(request))
        return Response({"tools": definitions(tools, wanted)})  # type: ignore[arg-type]


class ToolView(APIView):
    rate_class = "read"  # the call itself counts as `agent` (retrieval/tools/calling.py)
    scopes = {"POST": None}  # the tool decides

    @extend_schema(
        operation_id="tools_call", request=ToolCallSerializer, responses=ToolResultSerializer
    )
    def post(self, request: Request, name: str) -> Response:
        """Call a tool. Arguments are checked against the tool's schema: 422 `invalid_arguments`
        names the mistake. Results of tools that only read are cached for a while (`cached`)."""
        form = ToolCallSerializer(data=request.data)
        if not form.is_valid():
            raise ValidationError(form.errors)
        try:
            called = call_tool(context_of(request), name, form.validated_data["arguments"])
        except RateLimited as error:
            _show_limit(request, error.admission)
            raise
        _show_limit(request, called.admission)
        return Response(
            {
                "name": called.name,
                "result": called.result,
                "cached": called.cached,
                "latency_ms": called.latency_ms,
            }
        )


def _show_limit(request: Request, admission: Any) -> None:
    """Report the limit for agents in the headers instead of the general one."""
    if admission is not None:
        request._request.admission = admission  # type: ignore[attr-defined]
