"""POST /documents/delete: delete the documents that a filter finds, or only count them."""

from dataclasses import asdict
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from documents.api.serializers import StrictSerializer
from documents.api.views import caller_of
from documents.ingestion import removal
from ragsite.database.tenancy import namespace
from ragsite.platform.errors import ApiError
from retrieval.candidates.document_selection import documents_passing

from .filters import FiltersSerializer, filters_of


class BulkDeleteSerializer(StrictSerializer):
    filters = FiltersSerializer(
        required=False, help_text="As in a query, except `kind`, which applies to passages."
    )
    all = serializers.BooleanField(
        default=False, help_text="Delete every document; required if no filter restricts them."
    )
    dry_run = serializers.BooleanField(
        default=False, help_text="Only report what would be deleted."
    )
    expected_count = serializers.IntegerField(
        required=False,
        min_value=0,
        help_text="Fail with 409 if the filter finds a different number of documents.",
    )

    def validate(self, fields: dict[str, Any]) -> dict[str, Any]:
        filters = filters_of(fields.get("filters", {}))
        if filters.kinds:
            raise serializers.ValidationError({"filters": {"kind": "Documents have no kind."}})
        if filters.matches_nothing:
            raise serializers.ValidationError(
                {"filters": "A list in the filters is empty, and an empty list matches nothing."}
            )
        if filters.is_empty != fields["all"]:
            raise serializers.ValidationError(
                {"all": "Give filters that restrict something, or all=true to delete everything."}
            )
        return {**fields, "filters": filters}


class BulkRemovalSerializer(serializers.Serializer):
    """A receipt: what was deleted or, in a dry run, would be deleted."""

    dry_run = serializers.BooleanField()
    documents = serializers.IntegerField()
    versions = serializers.IntegerField()
    chunks = serializers.IntegerField()
    facts = serializers.IntegerField()
    jobs = serializers.IntegerField()
    files = serializers.IntegerField(help_text="Stored originals.")
    files_left = serializers.ListField(
        child=serializers.CharField(), help_text="Originals that could not be removed."
    )
    document_ids = serializers.ListField(child=serializers.UUIDField())


class BulkDeleteView(APIView):
    rate_class = "write"

    @extend_schema(
        operation_id="documents_bulk_delete",
        request=BulkDeleteSerializer,
        responses=BulkRemovalSerializer,
    )
    def post(self, request: Request) -> Response:
        """Delete all documents that pass the filters, with their chunks, facts, jobs and stored
        files. Try it with `dry_run` first, then send its count as `expected_count`."""
        form = BulkDeleteSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        asked, namespace_id = form.validated_data, caller_of(request).namespace_id
        with namespace(namespace_id):
            ids = documents_passing(asked["filters"])
            receipt = removal.estimate(ids) if asked["dry_run"] else None
        _check_count(len(ids), asked.get("expected_count"))
        if receipt is None:
            why = {"filters": dict(request.data).get("filters", "all")}
            receipt = removal.remove_many(namespace_id, ids, details=why)
        counts = {"dry_run": asked["dry_run"], "documents": len(receipt.document_ids)}
        return Response(BulkRemovalSerializer({**counts, **asdict(receipt)}).data)


def _check_count(found: int, expected: int | None) -> None:
    if expected is not None and found != expected:
        raise ApiError(
            "count_mismatch",
            f"The filters find {found} documents, not {expected}: nothing was deleted.",
            http_status=409,
            details={"count": found},
        )
