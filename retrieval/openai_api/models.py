"""GET /v1/models: the values of `model` for chat completions, responses and embeddings.

`ragsite` answers with the namespace's own language model, `ragsite-<alias>` with another configured
one; `ragsite-embedding` embeds with the model of the namespace's index.
"""

from typing import Any

from django.conf import settings
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from ragsite.platform.errors import ApiError

from .views import OPENAI_ERRORS, OpenAIView, check_query_parameters

DEFAULT_MODEL = "ragsite"
EMBEDDING_MODEL = "ragsite-embedding"
_PREFIX = "ragsite-"
OWNER = "ragsite"
CREATED = 1_789_000_000  # a constant: clients require a date, and models here have none


class ModelSerializer(serializers.Serializer):
    id = serializers.CharField()
    object = serializers.CharField(help_text="Always `model`.")
    created = serializers.IntegerField()
    owned_by = serializers.CharField()


class ModelListSerializer(serializers.Serializer):
    object = serializers.CharField(help_text="Always `list`.")
    data = ModelSerializer(many=True)  # type: ignore[assignment]


def model_ids() -> list[str]:
    return [
        DEFAULT_MODEL,
        *(_PREFIX + alias for alias in settings.LANGUAGE_MODELS),
        EMBEDDING_MODEL,
    ]


def answer_model(model: str) -> str | None:
    """Return the alias of the language model to answer with; None is the namespace's own.

    Raises ApiError for a model that does not answer here.
    """
    if model == DEFAULT_MODEL:
        return None
    alias = model.removeprefix(_PREFIX)
    if alias not in settings.LANGUAGE_MODELS or model == EMBEDDING_MODEL:
        raise no_such_model(*(name for name in model_ids() if name != EMBEDDING_MODEL))
    return alias


def no_such_model(*names: str) -> ApiError:
    """`names`: the models that can be used instead."""
    message = f"There is no such model here. Use one of: {', '.join(names)}."
    return ApiError("not_found", message, http_status=404, details={"param": "model"})


class ModelListView(OpenAIView):
    rate_class = "read"

    @extend_schema(
        operation_id="openai_models_list", responses={200: ModelListSerializer, **OPENAI_ERRORS}
    )
    def get(self, request: Request) -> Response:
        """List the models that other requests can name."""
        check_query_parameters(request, frozenset())
        return Response({"object": "list", "data": [_shown(model) for model in model_ids()]})


class ModelView(OpenAIView):
    rate_class = "read"

    @extend_schema(
        operation_id="openai_models_get", responses={200: ModelSerializer, **OPENAI_ERRORS}
    )
    def get(self, request: Request, model: str) -> Response:
        """Return one model."""
        check_query_parameters(request, frozenset())
        if model not in model_ids():
            raise no_such_model(*model_ids())
        return Response(_shown(model))


def _shown(model: str) -> dict[str, Any]:
    return {"id": model, "object": "model", "created": CREATED, "owned_by": OWNER}
