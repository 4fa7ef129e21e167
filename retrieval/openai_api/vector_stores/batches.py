"""/v1/vector_stores/{id}/file_batches: files that are added together and polled together."""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from documents.api.views import in_namespace
from documents.collections import batches, membership
from ragsite.access.rate_limits import BY_METHOD
from retrieval.openai_api.ids import FILE, missing
from retrieval.openai_api.views import OPENAI_ERRORS, OpenAIView, check_query_parameters

from .files import FILE_PARAMETERS, file_list, polled
from .finding import find_batch, find_store
from .requests import BatchSerializer, is_retry
from .shapes import FileBatchSerializer, VectorStoreFileListSerializer, batch_of


class BatchListView(OpenAIView):
    rate_class = BY_METHOD

    @extend_schema(
        operation_id="openai_file_batches_create",
        request=BatchSerializer,
        responses={200: FileBatchSerializer, **OPENAI_ERRORS},
    )
    @in_namespace
    def post(self, request: Request, store_id: str) -> Response:
        """Add files to the store; `file_counts` of the batch says how many are indexed."""
        store = find_store(store_id)
        form = BatchSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        attributes = form.attributes_of_files()
        try:
            batch = batches.add_batch(store, attributes, is_retry=is_retry(request))
        except membership.UnknownDocuments:
            param = "file_ids" if "file_ids" in form.validated_data else "files"
            raise missing(FILE, param) from None
        return polled(batch_of(batch))


class BatchView(OpenAIView):
    rate_class = BY_METHOD

    @extend_schema(
        operation_id="openai_file_batches_get",
        responses={200: FileBatchSerializer, **OPENAI_ERRORS},
    )
    @in_namespace
    def get(self, request: Request, store_id: str, batch_id: str) -> Response:
        """Return a batch, with how many of its files are indexed."""
        check_query_parameters(request, frozenset())
        return polled(batch_of(find_batch(find_store(store_id), batch_id)))


class BatchCancelView(OpenAIView):
    rate_class = BY_METHOD

    @extend_schema(
        operation_id="openai_file_batches_cancel",
        request=None,
        responses={200: FileBatchSerializer, **OPENAI_ERRORS},
    )
    @in_namespace
    def post(self, request: Request, store_id: str, batch_id: str) -> Response:
        """Remove the files that are not indexed yet from the store."""
        batch = find_batch(find_store(store_id), batch_id)
        batches.cancel(batch)
        return Response(batch_of(batch))


class BatchFileListView(OpenAIView):
    rate_class = BY_METHOD

    @extend_schema(
        operation_id="openai_file_batches_files",
        parameters=FILE_PARAMETERS,
        responses={200: VectorStoreFileListSerializer, **OPENAI_ERRORS},
    )
    @in_namespace
    def get(self, request: Request, store_id: str, batch_id: str) -> Response:
        """List the files of a batch that are in the store."""
        store = find_store(store_id)
        batch = find_batch(store, batch_id)
        members = membership.members_of(store).filter(document__in=batch.document_ids)
        return file_list(request, store, members)
