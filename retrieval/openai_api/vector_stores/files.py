"""/v1/vector_stores/{id}/files: the files in a store, with attributes to filter by."""

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from documents.api.views import in_namespace
from documents.collections import membership
from documents.models import Collection, CollectionDocument, DocumentVersion
from ragsite.access.rate_limits import BY_METHOD
from ragsite.platform.errors import ApiError
from retrieval.openai_api.ids import FILE, read_id, shown_id
from retrieval.openai_api.paging import listed, page_of, page_parameters
from retrieval.openai_api.views import (
    OPENAI_ERRORS,
    OpenAIView,
    check_query_parameters,
    invalid_parameter,
)

from .finding import add_files, find_file, find_store
from .requests import AddedFileSerializer, AttributesSerializer
from .shapes import (
    FILE_STATUSES,
    STATUSES,
    DeletedSerializer,
    VectorStoreFileListSerializer,
    VectorStoreFileSerializer,
    file_of,
)

POLL_AFTER_MS = "500"  # a hint for create_and_poll
FILE_PARAMETERS = [*page_parameters(), OpenApiParameter("filter", str, enum=FILE_STATUSES)]


class FileTextSerializer(serializers.Serializer):
    type = serializers.CharField()
    text = serializers.CharField()


class FileContentSerializer(serializers.Serializer):
    object = serializers.CharField()
    data = FileTextSerializer(many=True)  # type: ignore[assignment]
    has_more = serializers.BooleanField()
    next_page = serializers.CharField(allow_null=True)


def polled(shown: dict[str, Any]) -> Response:
    is_pending = shown["status"] == "in_progress"
    return Response(shown, headers={"openai-poll-after-ms": POLL_AFTER_MS} if is_pending else None)


def file_list(
    request: Request, store: Collection, members: QuerySet[CollectionDocument]
) -> Response:
    """Return a page of memberships, only those with the status that `filter` names, if it does."""
    wanted = request.query_params.get("filter")
    if wanted is not None:
        if wanted not in FILE_STATUSES:
            raise invalid_parameter("filter", f"filter is one of: {', '.join(FILE_STATUSES)}.")
        statuses = [status for status, shown in STATUSES.items() if shown == wanted]
        members = members.filter(document__status__in=statuses)
    page = page_of(
        members,
        request,
        find=lambda file_id, param: find_file(store, file_id, param),
        filters=frozenset({"filter"}),
    )
    return Response(listed(page, [file_of(member) for member in page.rows]))


class StoreFileListView(OpenAIView):
    rate_class = BY_METHOD

    @extend_schema(
        operation_id="openai_vector_store_files_list",
        parameters=FILE_PARAMETERS,
        responses={200: VectorStoreFileListSerializer, **OPENAI_ERRORS},
    )
    @in_namespace
    def get(self, request: Request, store_id: str) -> Response:
        """List the files in the store."""
        store = find_store(store_id)
        return file_list(request, store, membership.members_of(store))

    @extend_schema(
        operation_id="openai_vector_store_files_create",
        request=AddedFileSerializer,
        responses={200: VectorStoreFileSerializer, **OPENAI_ERRORS},
    )
    @in_namespace
    def post(self, request: Request, store_id: str) -> Response:
        """Add a file. A file that is in the store already stays, with the given attributes."""
        store = find_store(store_id)
        form = AddedFileSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        pk = read_id(FILE, form.validated_data["file_id"], "file_id")
        members = add_files(store, {pk: form.validated_data.get("attributes")}, "file_id")
        return polled(file_of(members[pk]))


class StoreFileView(OpenAIView):
    rate_class = BY_METHOD

    @extend_schema(
        operation_id="openai_vector_store_files_get",
        responses={200: VectorStoreFileSerializer, **OPENAI_ERRORS},
    )
    @in_namespace
    def get(self, request: Request, store_id: str, file_id: str) -> Response:
        """Return a file of the store, with its status."""
        check_query_parameters(request, frozenset())
        return polled(file_of(find_file(find_store(store_id), file_id)))

    @extend_schema(
        operation_id="openai_vector_store_files_update",
        request=AttributesSerializer,
        responses={200: VectorStoreFileSerializer, **OPENAI_ERRORS},
    )
    @in_namespace
    def post(self, request: Request, store_id: str, file_id: str) -> Response:
        """Replace the file's attributes in this store."""
        member = find_file(find_store(store_id), file_id)
        form = AttributesSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        membership.set_attributes(member, form.validated_data["attributes"] or {})
        return Response(file_of(member))

    @extend_schema(
        operation_id="openai_vector_store_files_delete",
        responses={200: DeletedSerializer, **OPENAI_ERRORS},
    )
    @in_namespace
    def delete(self, request: Request, store_id: str, file_id: str) -> Response:
        """Remove the file from the store; the file itself stays."""
        store = find_store(store_id)
        member = find_file(store, file_id)
        membership.remove(store, [member.document_id])
        shown = shown_id(FILE, member.document_id)
        return Response({"id": shown, "object": "vector_store.file.deleted", "deleted": True})


class StoreFileContentView(OpenAIView):
    rate_class = BY_METHOD

    @extend_schema(
        operation_id="openai_vector_store_files_content",
        responses={200: FileContentSerializer, **OPENAI_ERRORS},
    )
    @in_namespace
    def get(self, request: Request, store_id: str, file_id: str) -> Response:
        """Return the text that spans of search results point into, in one piece."""
        check_query_parameters(request, frozenset())
        document = find_file(find_store(store_id), file_id).document
        live = DocumentVersion.objects.filter(document=document, number=document.live_version or 0)
        text = live.values_list("text", flat=True).first()
        if text is None:
            raise ApiError(
                "not_ready", "The file has not been indexed yet.", details={"param": "file_id"}
            )
        return Response(
            {
                "object": "vector_store.file_content.page",
                "data": [{"type": "text", "text": text}],
                "has_more": False,
                "next_page": None,
            }
        )
