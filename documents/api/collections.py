"""A namespace's collections, and which documents are in them."""

import uuid
from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from documents.collections import editing, membership
from documents.metadata import storable
from documents.models import Collection, CollectionDocument
from ragsite.access.rate_limits import BY_METHOD
from ragsite.platform.errors import ApiError

from .serializers import StrictSerializer
from .views import NamespacedListView, caller_of, in_namespace

MAX_PAIRS = 16
MAX_KEY, MAX_TEXT = 64, 512  # characters
MAX_DAYS = 365
MAX_DOCUMENTS = 500  # per request
_TEXT = {"type": "string", "maxLength": MAX_TEXT}


def _pairs(values: Any) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": values, "maxProperties": MAX_PAIRS}


def check_pairs(data: Any, allowed: tuple[type, ...]) -> dict[str, Any]:
    """Raises ValidationError."""
    if not isinstance(data, dict):
        raise serializers.ValidationError("Must be a JSON object.")
    if len(data) > MAX_PAIRS:
        raise serializers.ValidationError(f"At most {MAX_PAIRS} keys.")
    for key, value in data.items():
        if not 0 < len(key) <= MAX_KEY:
            raise serializers.ValidationError(f"A key has 1 to {MAX_KEY} characters.")
        if not isinstance(value, allowed):
            names = " or ".join(_NAMES[kind] for kind in allowed if kind is not int)
            raise serializers.ValidationError(f"The value of {key!r} must be a {names}.")
        if isinstance(value, str) and len(value) > MAX_TEXT:
            raise serializers.ValidationError(f"{key!r} is longer than {MAX_TEXT} characters.")
    if storable(data) != data:
        raise serializers.ValidationError("NUL characters, lone surrogates and NaN are not stored.")
    return data


_NAMES = {str: "string", float: "number", bool: "boolean"}


@extend_schema_field(_pairs(_TEXT))
class TextPairsField(serializers.Field):
    """Up to 16 strings by key."""

    def to_internal_value(self, data: Any) -> dict[str, str]:
        return check_pairs(data, (str,))

    def to_representation(self, value: Any) -> Any:
        return value


@extend_schema_field(_pairs({"anyOf": [_TEXT, {"type": "number"}, {"type": "boolean"}]}))
class AttributesField(serializers.Field):
    """Up to 16 strings, numbers or booleans by key."""

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        return check_pairs(data, (str, int, float, bool))

    def to_representation(self, value: Any) -> Any:
        return value


class CollectionSerializer(serializers.ModelSerializer):
    metadata = TextPairsField()
    documents_count = serializers.SerializerMethodField()
    expires_at = serializers.SerializerMethodField()

    class Meta:
        model = Collection
        fields = [
            "id",
            "name",
            "description",
            "metadata",
            "documents_count",
            "expires_after_days",
            "expires_at",
            "last_active_at",
            "created_at",
        ]
        read_only_fields = fields

    def get_documents_count(self, collection: Collection) -> int:
        held: membership.Contents = self.context["contents"][collection.pk]
        return held.documents

    @extend_schema_field(serializers.DateTimeField(allow_null=True))
    def get_expires_at(self, collection: Collection) -> Any:
        return editing.expires_at(collection)


class CollectionChangeSerializer(StrictSerializer):
    name = serializers.CharField(
        max_length=256,
        required=False,
        allow_null=True,
        trim_whitespace=False,
        help_text="Unique in the namespace; upper and lower case differ.",
    )
    description = serializers.CharField(max_length=2000, required=False, allow_blank=True)
    metadata = TextPairsField(required=False, help_text="Up to 16 strings by key.")
    expires_after_days = serializers.IntegerField(
        min_value=1,
        max_value=MAX_DAYS,
        required=False,
        allow_null=True,
        help_text="Days after the last use until the collection expires, after which nothing is "
        "found in it; null: never.",
    )


class MembersSerializer(StrictSerializer):
    document_ids = serializers.ListField(
        child=serializers.UUIDField(), min_length=1, max_length=MAX_DOCUMENTS
    )
    attributes = AttributesField(
        required=False,
        help_text="Attributes of each of these documents. If omitted, they keep those they have.",
    )


class MemberChangeSerializer(StrictSerializer):
    attributes = AttributesField(help_text="They replace the previous attributes.")


class MemberSerializer(serializers.ModelSerializer):
    title = serializers.CharField(source="document.title")
    source_uri = serializers.CharField(source="document.source_uri")
    status = serializers.CharField(source="document.status")
    attributes = AttributesField()

    class Meta:
        model = CollectionDocument
        fields = ["document_id", "title", "source_uri", "status", "attributes", "created_at"]
        read_only_fields = fields


def find_collection(pk: uuid.UUID) -> Collection:
    """Find a collection. Raises NotFound for another tenant's id exactly as for an unknown one."""
    found = Collection.objects.filter(pk=pk).first()
    if found is None:
        raise NotFound
    return found


def _shown(collection: Collection) -> dict[str, Any]:
    contents = membership.contents_of([collection])
    return dict(CollectionSerializer(collection, context={"contents": contents}).data)


def _taken(error: editing.CollectionExists) -> ApiError:
    return ApiError("collection_exists", str(error), http_status=409)


class CollectionListView(NamespacedListView):
    serializer_class = CollectionSerializer
    filter_names = frozenset({"name"})

    def get_queryset(self) -> QuerySet[Collection]:
        name = self.request.query_params.get("name")
        collections = Collection.objects.all()
        return collections if name is None else collections.filter(name=name)

    def get_serializer(self, *args: Any, **kwargs: Any) -> Any:
        kwargs["context"] = {"contents": membership.contents_of(args[0] if args else ())}
        return CollectionSerializer(*args, **kwargs)

    @extend_schema(operation_id="collections_list")
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """List the collections, newest first."""
        return super().get(request, *args, **kwargs)

    @extend_schema(
        operation_id="collections_create",
        request=CollectionChangeSerializer,
        responses={200: CollectionSerializer, 201: CollectionSerializer},
    )
    @in_namespace
    def post(self, request: Request) -> Response:
        """Create a collection. Returns 200 with the existing one if it has this name and is
        equal."""
        form = CollectionChangeSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        description = editing.CollectionDescription(**form.validated_data)
        try:
            created, is_new = editing.create(caller_of(request).namespace_id, description)
        except editing.CollectionExists as error:
            raise _taken(error) from None
        return Response(_shown(created), status=201 if is_new else 200)


class CollectionView(APIView):
    rate_class = BY_METHOD

    @extend_schema(operation_id="collections_get", responses=CollectionSerializer)
    @in_namespace
    def get(self, request: Request, pk: uuid.UUID) -> Response:
        return Response(_shown(find_collection(pk)))

    @extend_schema(
        operation_id="collections_change",
        request=CollectionChangeSerializer,
        responses=CollectionSerializer,
    )
    @in_namespace
    def patch(self, request: Request, pk: uuid.UUID) -> Response:
        """Replace the submitted fields."""
        form = CollectionChangeSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        try:
            return Response(_shown(editing.change(find_collection(pk), form.validated_data)))
        except editing.CollectionExists as error:
            raise _taken(error) from None

    @extend_schema(operation_id="collections_delete", responses={204: None})
    @in_namespace
    def delete(self, request: Request, pk: uuid.UUID) -> Response:
        """Delete the collection; its documents stay."""
        editing.delete(find_collection(pk))
        return Response(status=204)


class CollectionDocumentListView(NamespacedListView):
    serializer_class = MemberSerializer

    def get_queryset(self) -> QuerySet[CollectionDocument]:
        return membership.members_of(find_collection(self.kwargs["pk"]))

    @extend_schema(operation_id="collections_documents")
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """List the documents in the collection, most recently added first."""
        return super().get(request, *args, **kwargs)

    @extend_schema(
        operation_id="collections_add",
        request=MembersSerializer,
        responses={200: CollectionSerializer},
    )
    @in_namespace
    def post(self, request: Request, pk: uuid.UUID) -> Response:
        """Add documents. Documents already in the collection get the attributes of this request."""
        collection = find_collection(pk)
        form = MembersSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        attributes = form.validated_data.get("attributes")
        try:
            wanted = dict.fromkeys(form.validated_data["document_ids"], attributes)
            membership.add(collection, wanted)
        except membership.UnknownDocuments as error:
            raise serializers.ValidationError({"document_ids": str(error)}) from None
        return Response(_shown(collection))


class CollectionDocumentView(APIView):
    rate_class = BY_METHOD

    @extend_schema(
        operation_id="collections_document_change",
        request=MemberChangeSerializer,
        responses=MemberSerializer,
    )
    @in_namespace
    def patch(self, request: Request, pk: uuid.UUID, document_id: uuid.UUID) -> Response:
        """Replace the document's attributes in this collection."""
        member = find_member(find_collection(pk), document_id)
        form = MemberChangeSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        membership.set_attributes(member, form.validated_data["attributes"])
        return Response(MemberSerializer(member).data)

    @extend_schema(operation_id="collections_remove", responses={204: None})
    @in_namespace
    def delete(self, request: Request, pk: uuid.UUID, document_id: uuid.UUID) -> Response:
        """Remove the document from the collection; it stays in the namespace."""
        if not membership.remove(find_collection(pk), [document_id]):
            raise NotFound
        return Response(status=204)


def find_member(collection: Collection, document_id: uuid.UUID) -> CollectionDocument:
    """Raises NotFound."""
    member = membership.members_of(collection).filter(document=document_id).first()
    if member is None:
        raise NotFound
    return member
