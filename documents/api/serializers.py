"""How the API represents documents, versions, chunks, facts and jobs."""

from typing import Any, ClassVar

from django.http import QueryDict
from drf_spectacular.extensions import OpenApiSerializerExtension
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from documents.metadata import text
from documents.models import Chunk, Document, DocumentVersion, IngestJob
from documents.profiles.chunking_overrides import requested_by
from ragsite.web.openapi import RULES

from .fields import ChunkingSerializer, MetadataField
from .json_types import type_errors


class StrictSerializer(serializers.Serializer):
    """Rejects unknown fields, so that a misspelt option is not silently ignored."""

    schema_rules: ClassVar[dict[str, Any]] = {}  # JSON Schema for the rules in `validate`

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, dict) and (unknown := sorted(set(data) - set(self.fields))):
            # Cleaned, because a lone surrogate could not be encoded in the response.
            raise serializers.ValidationError(dict.fromkeys(map(text, unknown), "Unknown field."))
        is_form = isinstance(data, QueryDict)  # forms, in which all values are text
        if isinstance(data, dict) and not is_form and (wrong := type_errors(self.fields, data)):
            raise serializers.ValidationError(wrong)
        return super().to_internal_value(data)


class StrictSchema(OpenApiSerializerExtension):
    """Adds `additionalProperties: false` and the rules between fields to the schema."""

    target_class = "documents.api.serializers.StrictSerializer"
    match_subclasses = True

    def map_serializer(self, auto_schema: Any, direction: str) -> dict[str, Any]:
        schema = auto_schema._map_serializer(self.target, direction, bypass_extensions=True)
        return {**schema, "additionalProperties": False, RULES: self.target.schema_rules}


class FailureSerializer(serializers.Serializer):
    code = serializers.CharField()
    message = serializers.CharField()


class SpanSerializer(serializers.Serializer):
    start = serializers.IntegerField(
        help_text="Index of the first code point in the version's text."
    )
    end = serializers.IntegerField(help_text="Index after the last code point.")


class _WithError(serializers.ModelSerializer):
    error = serializers.SerializerMethodField()

    @extend_schema_field(FailureSerializer(allow_null=True))
    def get_error(self, row: Document | IngestJob) -> dict[str, str] | None:
        if not row.error_code:
            return None
        return {"code": row.error_code, "message": row.error_message}


class DocumentSerializer(_WithError):
    version = serializers.IntegerField(source="document_version", help_text="The newest version.")
    live_version = serializers.IntegerField(
        allow_null=True, help_text="The version that searches use; null before the first is ready."
    )
    metadata = serializers.JSONField()
    chunking = serializers.SerializerMethodField(
        help_text="The chunking options of its uploads; null if the index profile decides."
    )

    class Meta:
        model = Document
        fields = [
            "id",
            "status",
            "error",
            "title",
            "source_uri",
            "source_type",
            "media_type",
            "byte_size",
            "content_sha256",
            "version",
            "live_version",
            "tags",
            "metadata",
            "language",
            "dated_at",
            "chunks_count",
            "tokens_count",
            "embedding_model",
            "embedding_dim",
            "ingestion_version",
            "chunking",
            "created_at",
            "updated_at",
        ]
        read_only_fields = fields

    @extend_schema_field(ChunkingSerializer(allow_null=True))
    def get_chunking(self, document: Document) -> dict[str, Any] | None:
        return requested_by(document) or None


class DocumentChangeSerializer(StrictSerializer):
    """Fields that PATCH may change; omitted fields stay as they are."""

    title = serializers.CharField(
        max_length=1000,
        required=False,
        allow_blank=True,
        help_text="Blank restores the file's own title. The document is indexed again with the "
        "new title.",
    )
    source_uri = serializers.CharField(
        max_length=2048, required=False, help_text="The new identity of the document."
    )
    tags = serializers.ListField(
        child=serializers.CharField(max_length=200), max_length=100, required=False
    )
    metadata = MetadataField(
        required=False,
        help_text="Merged into the document's metadata (RFC 7396): null removes a key, objects "
        "are merged, anything else replaces.",
    )
    dated_at = serializers.DateTimeField(
        required=False,
        allow_null=True,
        help_text="The document's date. null: the date in its metadata, else that of the upload.",
    )


class VersionSerializer(serializers.ModelSerializer):
    class Meta:
        model = DocumentVersion
        fields = [
            "number",
            "state",
            "content_sha256",
            "media_type",
            "byte_size",
            "file_name",
            "encoding",
            "warnings",
            "created_at",
            "published_at",
        ]
        read_only_fields = fields


class ChunkSerializer(serializers.ModelSerializer):
    span = SpanSerializer(source="*")
    page = serializers.IntegerField(source="page_start", allow_null=True)
    metadata = serializers.JSONField()

    class Meta:
        model = Chunk
        fields = [
            "id",
            "ordinal",
            "kind",
            "section",
            "page",
            "span",
            "content",
            "tokens",
            "metadata",
            "chunk_hash",
        ]
        read_only_fields = fields


class ProvenanceSerializer(serializers.Serializer):
    """Position of the source: `text[start:end]` of that version's text."""

    document_id = serializers.UUIDField()
    version = serializers.IntegerField()
    span = SpanSerializer()
    source_uri = serializers.CharField()


class HeadingSerializer(serializers.Serializer):
    level = serializers.IntegerField()
    title = serializers.CharField()
    start = serializers.IntegerField()
    end = serializers.IntegerField()


class PageSerializer(serializers.Serializer):
    number = serializers.IntegerField()
    start = serializers.IntegerField()
    end = serializers.IntegerField()
    ocr_confidence = serializers.FloatField(
        required=False,
        allow_null=True,
        help_text="OCR confidence from 0 to 1; null for a page with a text layer.",
    )


class TextSerializer(serializers.Serializer):
    """The text that spans refer to."""

    document_id = serializers.UUIDField()
    version = serializers.IntegerField()
    text = serializers.CharField()
    pages = PageSerializer(many=True)
    headings = HeadingSerializer(many=True)


class RemovalSerializer(serializers.Serializer):
    """A receipt: what was deleted."""

    document_id = serializers.UUIDField()
    source_uri = serializers.CharField()
    versions = serializers.IntegerField()
    chunks = serializers.IntegerField()
    facts = serializers.IntegerField()
    jobs = serializers.IntegerField()
    files = serializers.IntegerField()
    files_left = serializers.ListField(child=serializers.CharField())


class JobSerializer(_WithError):
    times_ms = serializers.DictField(child=serializers.FloatField())

    class Meta:
        model = IngestJob
        fields = [
            "id",
            "document_id",
            "state",
            "stage",
            "attempts",
            "max_attempts",
            "passages_done",
            "passages_total",
            "times_ms",
            "embedding_tokens",
            "embedding_cost",
            "error",
            "request_id",
            "created_at",
            "started_at",
            "finished_at",
        ]
        read_only_fields = fields
