"""The response of POST /ingest, one result for each item."""

from typing import Any

from rest_framework import serializers

from documents.api.serializers import FailureSerializer
from documents.errors import IngestError
from documents.intake.intake import Receipt
from documents.models import Document, DocumentVersion


class RejectionSerializer(FailureSerializer):
    details = serializers.DictField(
        required=False,
        help_text="For quota_exceeded: the quota, its limit, what is used and what was requested.",
    )


class ResultSerializer(serializers.Serializer):
    index = serializers.IntegerField(help_text="The item's index in the request, from 0.")
    source_uri = serializers.CharField(
        allow_null=True,
        help_text="The identity of the document; for a duplicate, that of the first one.",
    )
    document_id = serializers.UUIDField(allow_null=True)
    job_id = serializers.UUIDField(allow_null=True)
    status = serializers.ChoiceField(choices=[*Document.Status.values, "rejected"])
    duplicate = serializers.BooleanField(help_text="The same bytes already exist.")
    updated = serializers.BooleanField(
        help_text="For existing bytes: title, tags or metadata were replaced by those of the "
        "request."
    )
    version = serializers.IntegerField(allow_null=True)
    chunks_count = serializers.IntegerField()
    tokens_estimate = serializers.IntegerField()
    warnings = serializers.ListField(
        child=serializers.CharField(),
        help_text="Warnings about the request, then those from reading and indexing the version.",
    )
    error = RejectionSerializer(allow_null=True)


class IngestAnswerSerializer(serializers.Serializer):
    failed = serializers.IntegerField(help_text="Items that were rejected or could not be read.")
    error = FailureSerializer(
        allow_null=True, help_text="The message of the first item that failed."
    )
    warnings = serializers.ListField(
        child=serializers.CharField(), help_text="About the request as a whole."
    )
    namespace = serializers.CharField()
    indexed = serializers.IntegerField(help_text="Items that are searchable now.")
    results = ResultSerializer(many=True)


def result_of(index: int, receipt: Receipt) -> dict[str, Any]:
    return {
        "index": index,
        "source_uri": receipt.source_uri,
        "document_id": receipt.document_id,
        "job_id": receipt.job_id,
        "status": receipt.status,
        "duplicate": receipt.duplicate,
        "updated": receipt.updated,
        "version": receipt.version,
        "chunks_count": 0,
        "tokens_estimate": 0,
        "warnings": list(receipt.warnings),
        "error": None,
    }


def rejection(index: int, error: IngestError, *, source_uri: str = "") -> dict[str, Any]:
    return {
        "index": index,
        "source_uri": source_uri or None,
        "document_id": None,
        "job_id": None,
        "status": "rejected",
        "duplicate": False,
        "updated": False,
        "version": None,
        "chunks_count": 0,
        "tokens_estimate": 0,
        "warnings": [],
        "error": {"code": error.code, "message": str(error), "details": error.details or {}},
    }


def first_failure(results: list[dict[str, Any]]) -> dict[str, str] | None:
    """The first failure as the error of the whole response."""
    failed = [r for r in results if r["status"] in ("rejected", Document.Status.FAILED)]
    if not failed:
        return None
    error, name = failed[0]["error"], failed[0]["source_uri"]
    what = f"{name}: {error['message']}" if name else error["message"]
    if len(results) > 1:
        what = f"{len(failed)} of {len(results)} documents failed; the first: {what}"
    return {"code": error["code"], "message": what}


def bring_up_to_date(results: list[dict[str, Any]]) -> None:
    """Fill in the current state of the documents. Inside namespace()."""
    wanted = [result["document_id"] for result in results if result["document_id"]]
    documents = Document.objects.defer("metadata", "given").in_bulk(wanted)
    versions = DocumentVersion.objects.filter(document_id__in=wanted).exclude(warnings=[])
    warned = {
        (document_id, number): warnings
        for document_id, number, warnings in versions.values_list(
            "document_id", "number", "warnings"
        )
    }
    for result in results:
        if document := documents.get(result["document_id"]):
            result["status"] = document.status
            result["chunks_count"] = document.chunks_count
            result["tokens_estimate"] = document.tokens_count
            # otherwise they belong to an earlier attempt
            if document.status == Document.Status.READY:
                result["warnings"] += warned.get((document.pk, result["version"]), [])
            if document.error_code:
                failure = {"code": document.error_code, "message": document.error_message}
                result["error"] = failure
