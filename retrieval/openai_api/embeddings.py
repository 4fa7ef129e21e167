"""POST /v1/embeddings: vectors by the embedding model of the namespace's index."""

import base64
import struct
import uuid
from collections.abc import Sequence
from typing import Any

from drf_spectacular.utils import OpenApiExample, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from documents.api.serializers import StrictSerializer
from documents.api.views import caller_of
from documents.embedders.base import Embedder
from documents.errors import CostCap, IngestError
from documents.metering.embeddings import MeteredEmbedder
from documents.models import IndexProfile, Namespace
from documents.profiles.profiles import embedder_of
from ragsite.database.tenancy import namespace
from ragsite.platform.errors import ApiError
from ragsite.web.guards.stream_limit import waiting
from ragsite.web.threads import release_connections

from .models import EMBEDDING_MODEL, no_such_model
from .views import OPENAI_ERRORS, OpenAIView, invalid_parameter

MAX_INPUTS = 2048
TEXTS_ONLY = (
    "Send texts: token numbers belong to OpenAI's models (LangChain sends texts with "
    "check_embedding_ctx_length=False)."
)
MAX_TOTAL_TOKENS = 300_000  # of one request, as at OpenAI


@extend_schema_field(
    {"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
)
class EmbeddingInputField(serializers.Field):
    def to_internal_value(self, data: Any) -> list[str]:
        texts = [data] if isinstance(data, str) else data
        if not isinstance(texts, list) or not texts or len(texts) > MAX_INPUTS:
            raise serializers.ValidationError(f"Send a text or 1 to {MAX_INPUTS:,} texts.")
        for text in texts:
            if not isinstance(text, str):
                raise serializers.ValidationError(TEXTS_ONLY)
            if not text.strip() or "\x00" in text:
                raise serializers.ValidationError("A text must not be empty or contain NUL.")
        return texts


class EmbeddingRequestSerializer(StrictSerializer):
    input = EmbeddingInputField()
    model = serializers.CharField(max_length=200, help_text=f"`{EMBEDDING_MODEL}`.")
    encoding_format = serializers.ChoiceField(
        choices=["float", "base64"],
        default="float",
        help_text="`base64`: little-endian 32-bit floats, which OpenAI's clients ask for.",
    )
    dimensions = serializers.IntegerField(
        required=False, help_text="The model's own number of dimensions; no other is possible."
    )
    user = serializers.CharField(required=False, max_length=512, help_text="Has no effect.")
    input_type = serializers.ChoiceField(
        choices=["document", "query"],
        default="document",
        help_text="An extension: some models embed questions differently.",
    )


class EmbeddingSerializer(serializers.Serializer):
    object = serializers.CharField(help_text="Always `embedding`.")
    index = serializers.IntegerField()
    embedding = serializers.JSONField(help_text="A list of numbers, or base64.")


class EmbeddingUsageSerializer(serializers.Serializer):
    prompt_tokens = serializers.IntegerField()
    total_tokens = serializers.IntegerField()


class EmbeddingListSerializer(serializers.Serializer):
    object = serializers.CharField(help_text="Always `list`.")
    data = EmbeddingSerializer(many=True)  # type: ignore[assignment]
    model = serializers.CharField()
    usage = EmbeddingUsageSerializer()


class EmbeddingsView(OpenAIView):
    scopes = {"POST": "read"}
    rate_class = "search"

    @extend_schema(
        operation_id="openai_embeddings",
        request=EmbeddingRequestSerializer,
        responses={200: EmbeddingListSerializer, **OPENAI_ERRORS},
        examples=[
            OpenApiExample(
                "Two texts",
                {"model": EMBEDDING_MODEL, "input": ["A lighthouse.", "A harbour."]},
                request_only=True,
            )
        ],
    )
    def post(self, request: Request) -> Response:
        """Embed texts with the model of the namespace's active index profile."""
        form = EmbeddingRequestSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        fields, namespace_id = form.validated_data, caller_of(request).namespace_id
        embedder = _embedder(_active_profile(namespace_id), fields)
        with waiting(request.headers["Authorization"]):
            vectors, tokens = _embed(
                namespace_id, embedder, fields["input"], is_query=fields["input_type"] == "query"
            )
        encode = _base64 if fields["encoding_format"] == "base64" else list
        data = [
            {"object": "embedding", "index": index, "embedding": encode(vector)}
            for index, vector in enumerate(vectors)
        ]
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        return Response({"object": "list", "data": data, "model": fields["model"], "usage": usage})


def _active_profile(namespace_id: uuid.UUID) -> IndexProfile:
    with namespace(namespace_id):
        return Namespace.objects.select_related("active_profile").get().active_profile


def _embedder(profile: IndexProfile, fields: dict[str, Any]) -> Embedder:
    if fields["model"] not in (EMBEDDING_MODEL, profile.embedder):
        raise no_such_model(EMBEDDING_MODEL)
    try:
        embedder = embedder_of(profile)
    except IngestError as error:
        raise _failed(error) from error
    dimensions = fields.get("dimensions", embedder.dimensions)
    if dimensions != embedder.dimensions:
        message = (
            f"This model's vectors have {embedder.dimensions} dimensions, and no other number."
        )
        raise invalid_parameter("dimensions", message)
    return embedder


def _embed(
    namespace_id: uuid.UUID, embedder: Embedder, texts: list[str], *, is_query: bool
) -> tuple[list[list[float]], int]:
    """Return the vectors and the number of tokens. No database connection is held meanwhile."""
    try:
        counts = embedder.count_tokens(texts)
        _require_sizes(counts, limit=embedder.max_tokens * embedder.max_windows)
        metered = MeteredEmbedder(embedder, namespace_id, None)
        metered.require_room(sum(counts))
        release_connections()
        if not is_query:
            return metered.embed_batch(texts), sum(counts)
        vectors = [embedder.embed_query(text) for text in texts]
        with namespace(namespace_id):
            metered.book(sum(counts))
        return vectors, sum(counts)
    except IngestError as error:
        raise _failed(error) from error


def _require_sizes(counts: Sequence[int], *, limit: int) -> None:
    for index, count in enumerate(counts):
        if count > limit:
            message = f"Text {index} has {count:,} tokens; the model reads at most {limit:,}."
            raise invalid_parameter("input", message)
    if sum(counts) > MAX_TOTAL_TOKENS:
        message = f"All texts together may have {MAX_TOTAL_TOKENS:,} tokens."
        raise invalid_parameter("input", message)


def _failed(error: IngestError) -> ApiError:
    if isinstance(error, CostCap):
        return ApiError(error.code, str(error), http_status=429)
    return ApiError(error.code, str(error), http_status=503, retry_after=5)


def _base64(vector: Sequence[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()
