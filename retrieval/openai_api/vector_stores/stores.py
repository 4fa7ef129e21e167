"""/v1/vector_stores: create, list, retrieve, update, delete."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from documents.api.views import caller_of, in_namespace
from documents.collections import editing, membership
from documents.models import Collection
from ragsite.access.rate_limits import BY_METHOD
from ragsite.platform.errors import ApiError
from retrieval.openai_api.ids import FILE, STORE, read_id, shown_id
from retrieval.openai_api.paging import listed, page_of, page_parameters
from retrieval.openai_api.views import OPENAI_ERRORS, OpenAIView, check_query_parameters

from .finding import add_files, find_store
from .requests import StoreChangeSerializer, StoreSerializer, is_retry
from .shapes import (
    DeletedSerializer,
    VectorStoreListSerializer,
    VectorStoreSerializer,
    store_of,
)


def _shown(collection: Collection) -> Response:
    contents = membership.contents_of([collection])
    return Response(store_of(collection, contents[collection.pk]))


def _taken(error: editing.CollectionExists) -> ApiError:
    return ApiError("conflict", str(error), http_status=409, details={"param": "name"})


class StoreListView(OpenAIView):
    rate_class = BY_METHOD

    @extend_schema(
        operation_id="openai_vector_stores_list",
        parameters=page_parameters(),
        responses={200: VectorStoreListSerializer, **OPENAI_ERRORS},
    )
    @in_namespace
    def get(self, request: Request) -> Response:
        """List the namespace's collections, newest first by default."""
        page = page_of(Collection.objects.all(), request, find=find_store)
        contents = membership.contents_of(page.rows)
        return Response(listed(page, [store_of(one, contents[one.pk]) for one in page.rows]))

    @extend_schema(
        operation_id="openai_vector_stores_create",
        request=StoreSerializer,
        responses={200: VectorStoreSerializer, **OPENAI_ERRORS},
    )
    @in_namespace
    def post(self, request: Request) -> Response:
        """Create a vector store. With the name and content of an existing one, return that one."""
        form = StoreSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        fields: dict[str, Any] = form.described()
        fields.pop("chunking_strategy", None)
        file_ids = [read_id(FILE, one, "file_ids") for one in fields.pop("file_ids", ())]
        try:
            created, _ = editing.create(
                caller_of(request).namespace_id,
                editing.CollectionDescription(**fields),
                is_retry=is_retry(request),
            )
        except editing.CollectionExists as error:
            raise _taken(error) from None
        if file_ids:
            add_files(created, dict.fromkeys(file_ids), "file_ids")
        return _shown(created)


class StoreView(OpenAIView):
    rate_class = BY_METHOD

    @extend_schema(
        operation_id="openai_vector_stores_get",
        responses={200: VectorStoreSerializer, **OPENAI_ERRORS},
    )
    @in_namespace
    def get(self, request: Request, store_id: str) -> Response:
        """Return one vector store."""
        check_query_parameters(request, frozenset())
        return _shown(find_store(store_id))

    @extend_schema(
        operation_id="openai_vector_stores_update",
        request=StoreChangeSerializer,
        responses={200: VectorStoreSerializer, **OPENAI_ERRORS},
    )
    @in_namespace
    def post(self, request: Request, store_id: str) -> Response:
        """Change name, metadata or expiry. A new expiry revives an expired store."""
        store = find_store(store_id)
        form = StoreChangeSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        try:
            return _shown(editing.change(store, form.described()))
        except editing.CollectionExists as error:
            raise _taken(error) from None

    @extend_schema(
        operation_id="openai_vector_stores_delete",
        responses={200: DeletedSerializer, **OPENAI_ERRORS},
    )
    @in_namespace
    def delete(self, request: Request, store_id: str) -> Response:
        """Delete the vector store; its files stay."""
        store = find_store(store_id)
        editing.delete(store)
        shown = shown_id(STORE, store.pk)
        return Response({"id": shown, "object": "vector_store.deleted", "deleted": True})
