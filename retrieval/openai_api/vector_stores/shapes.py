"""Vector stores, their files and batches in the shapes that OpenAI's clients expect."""

from collections import Counter
from datetime import datetime
from typing import Any

from rest_framework import serializers

from documents.api.collections import AttributesField, TextPairsField
from documents.collections import batches, editing
from documents.collections.membership import Contents
from documents.models import Collection, CollectionBatch, CollectionDocument, Document
from retrieval.openai_api.ids import BATCH, FILE, STORE, shown_id

Shown = dict[str, Any]
Status = Document.Status
STATUSES = {
    Status.QUEUED: "in_progress",
    Status.PROCESSING: "in_progress",
    Status.READY: "completed",
    Status.FAILED: "failed",
    Status.CANCELLED: "cancelled",
}
FILE_STATUSES = ("in_progress", "completed", "failed", "cancelled")
# OpenAI has three codes for a file that failed.
_FAILURES = {"unsupported_type": "unsupported_file", "type_mismatch": "unsupported_file"}


def seconds(moment: datetime | None) -> int | None:
    return None if moment is None else int(moment.timestamp())


def file_counts(by_status: Counter[str]) -> dict[str, int]:
    counts = dict.fromkeys(FILE_STATUSES, 0)
    for status, number in by_status.items():
        counts[STATUSES[Status(status)]] += number
    return {**counts, "total": sum(counts.values())}


def store_of(collection: Collection, contents: Contents) -> Shown:
    counts, days = file_counts(contents.by_status), collection.expires_after_days
    status = "in_progress" if counts["in_progress"] else "completed"
    return {
        "id": shown_id(STORE, collection.pk),
        "object": "vector_store",
        "created_at": seconds(collection.created_at),
        "name": collection.name,
        "description": collection.description,
        "usage_bytes": contents.bytes,
        "file_counts": counts,
        "status": "expired" if editing.is_expired(collection) else status,
        "expires_after": None if days is None else {"anchor": "last_active_at", "days": days},
        "expires_at": seconds(editing.expires_at(collection)),
        "last_active_at": seconds(collection.last_active_at),
        "metadata": collection.metadata,
    }


def file_of(member: CollectionDocument) -> Shown:
    document = member.document
    status = STATUSES[Status(document.status)]
    failure = {
        "code": _FAILURES.get(document.error_code, "invalid_file"),
        "message": document.error_message,
    }
    return {
        "id": shown_id(FILE, document.pk),
        "object": "vector_store.file",
        "created_at": seconds(member.created_at),
        "vector_store_id": shown_id(STORE, member.collection_id),
        "status": status,
        "last_error": failure if status == "failed" else None,
        "usage_bytes": document.byte_size,
        "attributes": member.attributes,
        "chunking_strategy": {"type": "other"},  # of the profile or the upload
    }


def batch_of(batch: CollectionBatch) -> Shown:
    counts = file_counts(batches.statuses(batch))
    status = "in_progress" if counts["in_progress"] else "completed"
    return {
        "id": shown_id(BATCH, batch.pk),
        "object": "vector_store.files_batch",
        "created_at": seconds(batch.created_at),
        "vector_store_id": shown_id(STORE, batch.collection_id),
        "status": "cancelled" if batch.cancelled_at else status,
        "file_counts": counts,
    }


# -- for the schema ----------------------------------------------------------------------


class FileCountsSerializer(serializers.Serializer):
    in_progress = serializers.IntegerField()
    completed = serializers.IntegerField()
    failed = serializers.IntegerField()
    cancelled = serializers.IntegerField()
    total = serializers.IntegerField()


class ExpiryShownSerializer(serializers.Serializer):
    anchor = serializers.CharField()
    days = serializers.IntegerField()


class VectorStoreSerializer(serializers.Serializer):
    id = serializers.CharField()
    object = serializers.CharField()
    created_at = serializers.IntegerField()
    name = serializers.CharField(allow_null=True)
    description = serializers.CharField()
    usage_bytes = serializers.IntegerField()
    file_counts = FileCountsSerializer()
    status = serializers.ChoiceField(choices=["expired", "in_progress", "completed"])
    expires_after = ExpiryShownSerializer(allow_null=True)
    expires_at = serializers.IntegerField(allow_null=True)
    last_active_at = serializers.IntegerField()
    metadata = TextPairsField()


class FileErrorSerializer(serializers.Serializer):
    code = serializers.CharField()
    message = serializers.CharField()


class StrategyShownSerializer(serializers.Serializer):
    type = serializers.CharField()


class VectorStoreFileSerializer(serializers.Serializer):
    id = serializers.CharField()
    object = serializers.CharField()
    created_at = serializers.IntegerField()
    vector_store_id = serializers.CharField()
    status = serializers.ChoiceField(choices=FILE_STATUSES)
    last_error = FileErrorSerializer(allow_null=True)
    usage_bytes = serializers.IntegerField()
    attributes = AttributesField()
    chunking_strategy = StrategyShownSerializer()


class FileBatchSerializer(serializers.Serializer):
    id = serializers.CharField()
    object = serializers.CharField()
    created_at = serializers.IntegerField()
    vector_store_id = serializers.CharField()
    status = serializers.ChoiceField(choices=["in_progress", "completed", "cancelled"])
    file_counts = FileCountsSerializer()


class DeletedSerializer(serializers.Serializer):
    id = serializers.CharField()
    object = serializers.CharField()
    deleted = serializers.BooleanField()


class _ListSerializer(serializers.Serializer):
    object = serializers.CharField()
    first_id = serializers.CharField(allow_null=True)
    last_id = serializers.CharField(allow_null=True)
    has_more = serializers.BooleanField()


class VectorStoreListSerializer(_ListSerializer):
    data = VectorStoreSerializer(many=True)  # type: ignore[assignment]


class VectorStoreFileListSerializer(_ListSerializer):
    data = VectorStoreFileSerializer(many=True)  # type: ignore[assignment]
