"""POST /api/rag/index and /api/rag/search: the service with the owner's camelCase field names.

Documents are accepted as by POST /ingest, and questions are searched as by POST /query.
docs/tools.md explains the fields.
"""

import time
import uuid
from typing import Any

from django.conf import settings
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from documents.api import idempotency
from documents.api.fields import ContentField, MetadataField
from documents.api.ingest.requests import MAX_URI_LENGTH, InvalidItem, at_most, read_texts
from documents.api.ingest.taking import FAILED, UNFINISHED, take
from documents.api.serializers import StrictSerializer
from documents.api.views import caller_of
from documents.errors import IngestError
from documents.intake.submissions import Submission
from documents.models import Document
from ragsite.platform.errors import ApiError, describe, flat_envelope
from ragsite.web.guards.stream_limit import waiting
from ragsite.web.openapi import ERRORS
from retrieval.tools import rag

DEFAULT_CHUNK_SIZE = 1000  # characters, if only an overlap is requested


# -- shapes ------------------------------------------------------------------------------


class RagErrorSerializer(serializers.Serializer):
    success = serializers.BooleanField(help_text="false")
    error = serializers.CharField(help_text="For people.")
    code = serializers.CharField(help_text="Stable, for programs.")
    requestId = serializers.CharField()


class RagDocumentSerializer(StrictSerializer):
    content = ContentField()
    metadata = MetadataField(required=False)
    id = serializers.CharField(
        max_length=MAX_URI_LENGTH,
        required=False,
        help_text="Your own id: the same id again replaces the document.",
    )
    sourceId = serializers.CharField(
        max_length=MAX_URI_LENGTH,
        required=False,
        help_text="Name of the document's source; results are labelled with it, else with `id`.",
    )


def _namespace() -> serializers.CharField:
    return serializers.CharField(
        max_length=63, required=False, help_text="The key's own namespace; may be omitted."
    )


class RagIndexSerializer(StrictSerializer):
    documents = RagDocumentSerializer(many=True)
    namespace = _namespace()
    chunkSize = serializers.IntegerField(
        required=False, min_value=1, max_value=1_000_000, help_text="In characters."
    )
    chunkOverlap = serializers.IntegerField(
        required=False, min_value=0, max_value=1_000_000, help_text="In characters."
    )


class _RawIndexSerializer(RagIndexSerializer):
    """The same request without checking documents: each is checked, and may fail, separately."""

    documents = serializers.ListField(allow_empty=False)  # type: ignore[assignment]

    def validate_documents(self, documents: list[Any]) -> list[Any]:
        return at_most(documents, settings.INGEST_MAX_BATCH)


class RagFailureSerializer(serializers.Serializer):
    index = serializers.IntegerField(help_text="The document's index in the request, from 0.")
    error = serializers.CharField()


class RagIndexAnswerSerializer(serializers.Serializer):
    success = serializers.BooleanField(help_text="Whether every document can be found now.")
    indexed = serializers.IntegerField(help_text="Documents that can be found now.")
    chunksCreated = serializers.IntegerField(
        help_text="Chunks created by this request; 0 for known content."
    )
    namespace = serializers.CharField()
    total = serializers.IntegerField(help_text="Documents in the request.")
    failed = RagFailureSerializer(many=True)


class RagSearchSerializer(StrictSerializer):
    query = serializers.CharField(max_length=rag.MAX_QUERY)
    namespace = _namespace()
    limit = serializers.IntegerField(default=rag.LIMIT, min_value=1, max_value=rag.MAX_LIMIT)
    threshold = serializers.FloatField(
        default=rag.THRESHOLD, min_value=0, max_value=1, help_text="Lowest `similarity`."
    )
    useReranking = serializers.BooleanField(default=True)
    keywordWeight = serializers.FloatField(default=rag.KEYWORD_WEIGHT, min_value=0, max_value=1)
    semanticWeight = serializers.FloatField(default=rag.SEMANTIC_WEIGHT, min_value=0, max_value=1)

    def validate(self, fields: dict[str, Any]) -> dict[str, Any]:
        if not fields["keywordWeight"] and not fields["semanticWeight"]:
            raise serializers.ValidationError({"semanticWeight": "One weight must be above 0."})
        return fields


class RagPassageSerializer(serializers.Serializer):
    id = serializers.UUIDField(help_text="Id of the passage.")
    content = serializers.CharField()
    similarity = serializers.FloatField(
        help_text="0…1: the tenth root of `relevance` (docs/tools.md)."
    )
    keywordRank = serializers.FloatField(help_text="0…1: BM25 relative to the other candidates.")
    combinedScore = serializers.FloatField(help_text="0…1: both, weighted as requested.")
    metadata = serializers.JSONField()
    namespace = serializers.CharField()
    sourceId = serializers.CharField()
    chunkIndex = serializers.IntegerField(help_text="Index in the document, from 0.")
    rerankScore = serializers.FloatField(required=False)


class RagSearchAnswerSerializer(serializers.Serializer):
    success = serializers.BooleanField()
    query = serializers.CharField()
    results = RagPassageSerializer(many=True)
    latencyMs = serializers.FloatField()
    rerankingApplied = serializers.BooleanField()


# -- views -------------------------------------------------------------------------------


class RagView(APIView):
    """Returns errors in the format of this API as well."""

    def handle_exception(self, exc: Exception) -> Response:
        response = super().handle_exception(exc)
        error = response.data["error"]
        response.data = flat_envelope(error["code"], error["message"])
        return response


_ERROR = OpenApiResponse(RagErrorSerializer)
_ERRORS = {int(code): _ERROR for code in ERRORS}


class RagIndexView(RagView):
    rate_class = "ingest"

    @extend_schema(
        operation_id="rag_index",
        parameters=[idempotency.PARAMETER],
        request=RagIndexSerializer,
        responses={200: RagIndexAnswerSerializer, **_ERRORS},
    )
    @idempotency.idempotent
    def post(self, request: Request) -> Response:
        """Index documents, and wait until they are indexed. Returns 200 even if some fail: `failed`
        lists those, with the reasons."""
        form = _RawIndexSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        fields, namespace_id = form.validated_data, caller_of(request).namespace_id
        slug = _own_slug(namespace_id, fields.get("namespace"))
        items = [_read_document(document, _chunking(fields)) for document in fields["documents"]]
        slot = waiting(request.headers["Authorization"])
        results = take(namespace_id, items, wait=settings.INGEST_MAX_WAIT, slot=slot)
        return Response(_indexed(results, slug=slug, total=len(items)))


class RagSearchView(RagView):
    rate_class = "search"
    scopes = {"POST": "read"}

    @extend_schema(
        operation_id="rag_search",
        request=RagSearchSerializer,
        responses={200: RagSearchAnswerSerializer, **_ERRORS},
    )
    def post(self, request: Request) -> Response:
        """Search for passages, best first. The default threshold leaves out passages about
        something else."""
        started = time.monotonic()
        form = RagSearchSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        fields, namespace_id = form.validated_data, caller_of(request).namespace_id
        slug = _own_slug(namespace_id, fields.get("namespace"))
        asked = rag.RagQuery(
            query=fields["query"],
            limit=fields["limit"],
            threshold=fields["threshold"],
            use_reranking=fields["useReranking"],
            keyword_weight=fields["keywordWeight"],
            semantic_weight=fields["semanticWeight"],
        )
        result = rag.rag_search(namespace_id, asked)
        return Response(
            {
                "success": True,
                "query": result.found.query,
                "results": [rag.passage(hit, slug=slug) for hit in result.found.hits],
                "latencyMs": round((time.monotonic() - started) * 1000, 1),
                "rerankingApplied": result.was_reranked,
            }
        )


def _own_slug(namespace_id: uuid.UUID, named: str | None) -> str:
    """Accept only the key's own namespace. Others are not looked up, which would reveal whether
    they exist."""
    slug = rag.slug_of(namespace_id)
    if named is not None and named != slug:
        raise ApiError(
            "unknown_namespace",
            "This key does not belong to a namespace of that name.",
            http_status=404,
        )
    return slug


def _chunking(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the chunking options, in characters; by default those of the index profile."""
    if "chunkSize" not in fields and "chunkOverlap" not in fields:
        return {}
    size = fields.get("chunkSize", DEFAULT_CHUNK_SIZE)
    overlap = {"overlap": fields["chunkOverlap"]} if "chunkOverlap" in fields else {}
    return {"chunking": {"method": "fixed", "size": size, **overlap}}


def _read_document(data: Any, chunking: dict[str, Any]) -> Submission | IngestError:
    form = RagDocumentSerializer(data=data)
    if not form.is_valid():
        return InvalidItem(describe(serializers.ValidationError(form.errors)))
    names = {name: form.validated_data[name] for name in ("id", "sourceId") if name in data}
    item: dict[str, Any] = {"content": data["content"]}
    if names or "metadata" in data:
        item["metadata"] = {**form.validated_data.get("metadata", {}), **names}
    if names:
        item["source_uri"] = names.get("id", names.get("sourceId"))
    # Documents with the same content but different ids are different documents.
    items, _ = read_texts({"documents": [item], "on_duplicate": "keep", **chunking})
    return items[0]


def _indexed(results: list[dict[str, Any]], *, slug: str, total: int) -> dict[str, Any]:
    failed = [
        {"index": result["index"], "error": _failure(result)}
        for result in results
        if result["status"] != Document.Status.READY
    ]
    created = (r for r in results if r["status"] == Document.Status.READY and not r["duplicate"])
    return {
        "success": not failed,
        "indexed": len(results) - len(failed),
        "chunksCreated": sum(result["chunks_count"] for result in created),
        "namespace": slug,
        "total": total,
        "failed": failed,
    }


def _failure(result: dict[str, Any]) -> str:
    if result["status"] in FAILED and result["error"]:
        return str(result["error"]["message"])
    if result["status"] in UNFINISHED:
        waited = settings.INGEST_MAX_WAIT
        return f"Still being indexed after {waited} s; it will be searchable later."
    return "Cancelled before it was indexed."
