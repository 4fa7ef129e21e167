"""POST /v1/vector_stores/{id}/search: passages with their exact quotes and positions."""

import uuid
from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from documents.api.collections import AttributesField
from documents.api.fields import NamedChoiceField, TextField
from documents.api.serializers import SpanSerializer, StrictSerializer
from documents.api.views import caller_of
from documents.collections import editing
from documents.models import Collection
from documents.pages.links import base_url_of
from ragsite.database.tenancy import namespace
from retrieval.openai_api.views import OPENAI_ERRORS, OpenAIView, unsupported_parameter
from retrieval.tools.rag import MAX_QUERY

from .attribute_filters import read_filters
from .files import FileTextSerializer
from .finding import find_store
from .searching import StoreSearch, search_stores, shown_result

MAX_RESULTS = 50
MAX_QUERIES = 10
# OpenAI's rankers, and the reranker that each selects.
RANKERS = {
    "none": "none",
    "auto": "auto",
    "default-2024-11-15": "auto",
    "default_2024_08_21": "auto",
}
_QUERY = {"type": "string", "minLength": 1, "maxLength": MAX_QUERY}


@extend_schema_field(
    {"oneOf": [_QUERY, {"type": "array", "items": _QUERY, "minItems": 1, "maxItems": MAX_QUERIES}]}
)
class QueriesField(serializers.Field):
    """One question, or several."""

    def to_internal_value(self, data: Any) -> tuple[str, ...]:
        several = serializers.ListField(
            child=TextField(max_length=MAX_QUERY), min_length=1, max_length=MAX_QUERIES
        )
        return tuple(several.run_validation([data] if isinstance(data, str) else data))

    def to_representation(self, value: Any) -> Any:
        return value


@extend_schema_field(OpenApiTypes.OBJECT)
class AttributeFilterField(serializers.Field):
    """Validated by attribute_filters.py, whose errors name the mistake."""

    def to_internal_value(self, data: Any) -> Any:
        return read_filters(data)

    def to_representation(self, value: Any) -> Any:
        return value


class HybridSearchSerializer(StrictSerializer):
    embedding_weight = serializers.FloatField(min_value=0, max_value=1000)
    text_weight = serializers.FloatField(min_value=0, max_value=1000)

    def validate(self, fields: dict[str, Any]) -> dict[str, Any]:
        if not any(fields.values()):
            raise serializers.ValidationError({"embedding_weight": "One weight must be above 0."})
        return fields


class RankingOptionsSerializer(StrictSerializer):
    ranker = NamedChoiceField(choices=list(RANKERS), required=False)
    score_threshold = serializers.FloatField(min_value=0, max_value=1, required=False)
    hybrid_search = HybridSearchSerializer(required=False)


class StoreSearchSerializer(StrictSerializer):
    query = QueriesField()
    filters = AttributeFilterField(required=False, allow_null=True)
    max_num_results = serializers.IntegerField(default=10, min_value=1, max_value=MAX_RESULTS)
    ranking_options = RankingOptionsSerializer(required=False)
    rewrite_query = serializers.BooleanField(required=False)

    def validate_rewrite_query(self, value: bool) -> bool:
        if value:
            raise unsupported_parameter("rewrite_query", "Questions are searched as they are.")
        return value


class StoreResultSerializer(serializers.Serializer):
    file_id = serializers.CharField()
    filename = serializers.CharField()
    score = serializers.FloatField(help_text="How likely it answers the question, 0 to 1.")
    attributes = AttributesField()
    content = FileTextSerializer(many=True)
    quote = serializers.CharField(help_text="`text[span.start:span.end]` of the file's version.")
    span = SpanSerializer()
    page = serializers.IntegerField(allow_null=True)
    section = serializers.CharField()
    document_version = serializers.IntegerField()
    chunk_id = serializers.UUIDField()
    url = serializers.CharField(help_text="Opens the document at the passage.")


class StoreResultsSerializer(serializers.Serializer):
    object = serializers.CharField()
    search_query = serializers.ListField(child=serializers.CharField())
    data = StoreResultSerializer(many=True)  # type: ignore[assignment]
    has_more = serializers.BooleanField()
    next_page = serializers.CharField(allow_null=True)


class StoreSearchView(OpenAIView):
    scopes = {"POST": "read"}
    rate_class = "search"

    @extend_schema(
        operation_id="openai_vector_stores_search",
        request=StoreSearchSerializer,
        responses={200: StoreResultsSerializer, **OPENAI_ERRORS},
    )
    def post(self, request: Request, store_id: str) -> Response:
        """Find the passages that best answer the query, in this store only."""
        namespace_id = caller_of(request).namespace_id
        with namespace(namespace_id):
            store = find_store(store_id)
        form = StoreSearchSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        asked = _asked(store, form.validated_data)
        base_url = base_url_of(request._request)
        shown = [
            shown_result(found, namespace_id, base_url)
            for found in _found(namespace_id, store, asked)
        ]
        return Response(
            {
                "object": "vector_store.search_results.page",
                "search_query": list(asked.queries),
                "data": shown,
                "has_more": False,
                "next_page": None,
            }
        )


def _found(namespace_id: uuid.UUID, store: Collection, asked: StoreSearch) -> list[Any]:
    """Return nothing for an expired store; otherwise record that the store was used."""
    if editing.is_expired(store):
        return []
    found = search_stores(namespace_id, asked)
    with namespace(namespace_id):
        editing.mark_active(store)
    return found


def _asked(store: Collection, fields: dict[str, Any]) -> StoreSearch:
    ranking = fields.get("ranking_options", {})
    hybrid = ranking.get("hybrid_search", {"embedding_weight": 0.5, "text_weight": 0.5})
    return StoreSearch(
        stores=(store.pk,),
        queries=fields["query"],
        max_results=fields["max_num_results"],
        attributes=fields.get("filters"),
        score_threshold=ranking.get("score_threshold", 0.0),
        rerank=RANKERS[ranking.get("ranker", "auto")],
        weights=(hybrid["embedding_weight"], hybrid["text_weight"]),
    )
