"""GET and PATCH /answer/settings: a namespace's settings for answers."""

from django.conf import settings
from django.core.exceptions import ValidationError
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from documents.accounts import answer_settings
from documents.api.serializers import StrictSerializer
from documents.api.views import caller_of, in_namespace
from documents.models import Namespace
from ragsite.access.rate_limits import BY_METHOD


class AnswerSettingsSerializer(StrictSerializer):
    model = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=50,
        help_text="Which language model writes the answers; blank: the installation's default.",
    )
    prompt = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=20_000,
        help_text="Added to the rules for every answer, e.g. the audience and the tone.",
    )
    language = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=8,
        help_text="ISO 639-1 code of the language of answers; blank: that of the question.",
    )
    min_relevance = serializers.FloatField(
        required=False,
        allow_null=True,
        min_value=0,
        max_value=1,
        help_text="Minimum relevance of the best passage; below it no answer is attempted. "
        "null: the installation's default.",
    )


class AnswerSettingsAnswerSerializer(AnswerSettingsSerializer):
    available_models = serializers.ListField(child=serializers.CharField())
    default_model = serializers.CharField()


class AnswerSettingsView(APIView):
    rate_class = BY_METHOD
    scopes = {"GET": "read", "PATCH": "admin"}

    @extend_schema(operation_id="answer_settings_get", responses=AnswerSettingsAnswerSerializer)
    @in_namespace
    def get(self, request: Request) -> Response:
        """Return the namespace's settings for answers, and the available models."""
        return Response(_shown(_namespace(request)))

    @extend_schema(
        operation_id="answer_settings_change",
        request=AnswerSettingsSerializer,
        responses=AnswerSettingsAnswerSerializer,
    )
    @in_namespace
    def patch(self, request: Request) -> Response:
        """Change settings; omitted ones stay as they are."""
        form = AnswerSettingsSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        found = _namespace(request)
        try:
            answer_settings.change(found, form.validated_data)
        except ValidationError as error:
            named = {
                name.removeprefix("answer_"): messages
                for name, messages in error.message_dict.items()
            }
            raise serializers.ValidationError(named) from None
        return Response(_shown(found))


def _namespace(request: Request) -> Namespace:
    return Namespace.objects.get(pk=caller_of(request).namespace_id)


def _shown(namespace: Namespace) -> dict[str, object]:
    return {
        **answer_settings.current(namespace),
        "available_models": sorted(settings.LANGUAGE_MODELS),
        "default_model": settings.ANSWERS["model"],
    }
