"""What every view under /v1 shares: OpenAI's error envelope, and strict parameters."""

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from ragsite.platform.errors import ApiError, openai_envelope
from ragsite.web.rendering import IgnoreAcceptHeader


class OpenAIErrorDetailSerializer(serializers.Serializer):
    message = serializers.CharField(help_text="For people.")
    type = serializers.CharField()
    param = serializers.CharField(
        allow_null=True, help_text="The parameter that is wrong, if one is."
    )
    code = serializers.CharField(help_text="Stable; for programs.")
    request_id = serializers.CharField()


class OpenAIErrorSerializer(serializers.Serializer):
    error = OpenAIErrorDetailSerializer()


# For `@extend_schema(responses={200: …, **OPENAI_ERRORS})`. ragsite/web/openapi.py adds the other
# codes to the schema; every method has 400, because all refuse unknown options.
OPENAI_ERRORS = {400: OpenAIErrorSerializer}


class OpenAIView(APIView):
    """Errors have OpenAI's envelope; an invalid field is 400, as at OpenAI."""

    content_negotiation_class = IgnoreAcceptHeader  # its clients accept files and events only

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        if request.method in ("POST", "DELETE"):  # each GET knows its own
            check_query_parameters(request, frozenset())

    def handle_exception(self, exc: Exception) -> Response:
        response = super().handle_exception(exc)
        error = response.data["error"]
        if response.status_code == 422:
            response.status_code = 400
        if response.status_code == 409:
            response["x-should-retry"] = "false"  # the official clients would, otherwise
        response.data = openai_envelope(
            response.status_code, error["code"], error["message"], _param(exc, error["details"])
        )
        return response


def invalid_parameter(param: str, message: str) -> ApiError:
    """The error for a supported parameter with an invalid value."""
    return ApiError("invalid_value", message, details={"param": param})


def unsupported_parameter(param: str, reason: str = "") -> ApiError:
    """The error for an OpenAI option that this service does not support."""
    message = f"{param} is not supported here. {reason}".strip()
    return ApiError("unsupported_parameter", message, details={"param": param})


def not_found(param: str, what: str) -> ApiError:
    """The same error for an object of another namespace and for an unknown one."""
    return ApiError(
        "not_found",
        f"There is no such {what} in this namespace.",
        http_status=404,
        details={"param": param},
    )


def check_query_parameters(request: Request, known: frozenset[str]) -> None:
    for name, values in request.query_params.lists():
        if name not in known:
            raise unsupported_parameter(name)
        if len(values) > 1:
            raise invalid_parameter(name, f"{name} can be given only once.")


def _param(error: Exception, details: Any) -> str | None:
    if isinstance(error, ApiError) and isinstance(error.details, dict):
        return error.details.get("param")
    fields = details.get("fields") if isinstance(details, dict) else None
    return (fields[0]["field"] or None) if fields else None
