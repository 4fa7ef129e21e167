"""GET /usage: what a namespace contains, its quotas, and the rate limits of the key."""

from dataclasses import asdict

from django.conf import settings
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from documents.accounts import quotas
from documents.metering.embeddings import this_month
from documents.models import ApiKey, LanguageModelUsage, Namespace

from .views import caller_of, in_namespace


class QuotaSerializer(serializers.Serializer):
    used = serializers.IntegerField()
    quota = serializers.IntegerField(allow_null=True, help_text="null: no quota.")


class LanguageModelUsageSerializer(serializers.ModelSerializer[LanguageModelUsage]):
    model = serializers.CharField(source="model_identity", help_text="Provider and model.")
    cost = serializers.FloatField(help_text="In the operator's currency; 0 without prices.")

    class Meta:
        model = LanguageModelUsage
        fields = ["model", "calls", "prompt_tokens", "completion_tokens", "cost"]


class UsageSerializer(serializers.Serializer):
    namespace = serializers.CharField()
    documents = QuotaSerializer()
    bytes = QuotaSerializer(help_text="Size of the stored originals of all versions.")
    chunks = QuotaSerializer(help_text="Chunks that can be found now.")
    language_models = LanguageModelUsageSerializer(
        many=True, help_text="Tokens used in this calendar month (UTC)."
    )
    rate_limits = serializers.DictField(
        child=serializers.IntegerField(allow_null=True),
        help_text="Requests per minute of this key, by class of route; null: no limit.",
    )


class UsageView(APIView):
    rate_class = "read"

    @extend_schema(operation_id="usage", responses=UsageSerializer)
    @in_namespace
    def get(self, request: Request) -> Response:
        caller = caller_of(request)
        used = quotas.usage_of(caller.namespace_id)
        own = ApiKey.objects.values_list("limits", flat=True).get(pk=caller.key_id)
        limits = {**settings.RATE_LIMITS, **own}
        models = LanguageModelUsage.objects.filter(
            namespace_id=caller.namespace_id, month=this_month()
        )
        return Response(
            {
                "namespace": Namespace.objects.values_list("slug", flat=True).get(),
                **{name: asdict(figures) for name, figures in used.items()},
                "language_models": LanguageModelUsageSerializer(models, many=True).data,
                "rate_limits": {name: limit or None for name, limit in limits.items()},
            }
        )
