"""Request bodies. Fields that are not listed here are refused by name."""

import uuid
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request

from documents.api.collections import (
    MAX_DAYS,
    MAX_DOCUMENTS,
    AttributesField,
    TextPairsField,
)
from documents.api.fields import NamedChoiceField
from documents.api.serializers import StrictSerializer
from retrieval.openai_api.ids import FILE, read_id
from retrieval.openai_api.views import unsupported_parameter

NO_STATIC_CHUNKS = (
    "A file is cut when it is uploaded: by the index profile, or by the `chunking` of "
    'POST /api/v1/ingest. Use {"type": "auto"}.'
)
_STRATEGY = {"type": "object", "properties": {"type": {"type": "string", "enum": ["auto"]}}}


class ExpiresAfterSerializer(StrictSerializer):
    anchor = NamedChoiceField(choices=["last_active_at"])
    days = serializers.IntegerField(min_value=1, max_value=MAX_DAYS)


class ChunkingStrategySerializer(StrictSerializer):
    type = NamedChoiceField(choices=["auto", "static"])
    static = serializers.JSONField(required=False)

    def validate(self, fields: dict[str, Any]) -> dict[str, Any]:
        if fields["type"] == "static" or "static" in fields:
            raise unsupported_parameter("chunking_strategy.static", NO_STATIC_CHUNKS)
        return fields


class _DescriptionSerializer(StrictSerializer):
    name = serializers.CharField(
        max_length=256, required=False, allow_null=True, trim_whitespace=False
    )
    metadata = TextPairsField(required=False, allow_null=True)
    expires_after = ExpiresAfterSerializer(required=False, allow_null=True)

    def described(self) -> dict[str, Any]:
        """Return the submitted fields under the names that collections use."""
        fields = dict(self.validated_data)
        if "metadata" in fields:
            fields["metadata"] = fields["metadata"] or {}
        if "expires_after" in fields:
            expiry = fields.pop("expires_after")
            fields["expires_after_days"] = expiry["days"] if expiry else None
        return fields


class StoreChangeSerializer(_DescriptionSerializer):
    pass


class StoreSerializer(_DescriptionSerializer):
    description = serializers.CharField(max_length=2000, required=False, allow_blank=True)
    file_ids = serializers.ListField(
        child=serializers.CharField(max_length=100), required=False, max_length=MAX_DOCUMENTS
    )
    chunking_strategy = ChunkingStrategySerializer(required=False)


class AddedFileSerializer(StrictSerializer):
    file_id = serializers.CharField(max_length=100)
    attributes = AttributesField(required=False, allow_null=True)
    chunking_strategy = ChunkingStrategySerializer(required=False)


class AttributesSerializer(StrictSerializer):
    attributes = AttributesField(allow_null=True)


class BatchSerializer(StrictSerializer):
    file_ids = serializers.ListField(
        child=serializers.CharField(max_length=100),
        required=False,
        min_length=1,
        max_length=MAX_DOCUMENTS,
    )
    files = AddedFileSerializer(many=True, required=False)
    attributes = AttributesField(required=False, allow_null=True)
    chunking_strategy = ChunkingStrategySerializer(required=False)

    def validate(self, fields: dict[str, Any]) -> dict[str, Any]:
        if ("file_ids" in fields) == ("files" in fields):
            raise serializers.ValidationError({"file_ids": "Give either file_ids or files."})
        if "files" in fields and "attributes" in fields:
            raise serializers.ValidationError({"attributes": "With files, each has its own."})
        if not 1 <= len(fields.get("files", [None])) <= MAX_DOCUMENTS:
            raise serializers.ValidationError({"files": f"1 to {MAX_DOCUMENTS} files."})
        return fields

    def attributes_of_files(self) -> dict[uuid.UUID, Any]:
        """By document id."""
        fields = self.validated_data
        if "file_ids" in fields:
            common = fields.get("attributes")
            return {read_id(FILE, one, "file_ids"): common for one in fields["file_ids"]}
        return {
            read_id(FILE, one["file_id"], f"files.{n}.file_id"): one.get("attributes")
            for n, one in enumerate(fields["files"])
        }


def is_retry(request: Request) -> bool:
    """The official clients say how often they have sent this request before."""
    count = request.headers.get("x-stainless-retry-count", "")
    return count.isascii() and count.isdecimal() and int(count[:9]) > 0
