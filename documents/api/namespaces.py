"""Create, rename, list and delete namespaces and their keys, for operator keys only. Disabled
unless OPERATOR_API is on. Shows names and counts, never content."""

import uuid
from typing import Any

from django.core.exceptions import ValidationError as ModelError
from django.db.models import Count, QuerySet
from django.http import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.generics import ListAPIView
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from documents.accounts import keys, namespace_removal
from documents.models import ApiKey, Namespace, NamespaceRemoval
from documents.profiles import profiles, vector_indexes
from ragsite.access.operator_auth import IsOperator, OperatorKeyAuthentication
from ragsite.database.tenancy import operator
from ragsite.platform.errors import ApiError

from .pages import NewestFirst
from .serializers import StrictSerializer


class OperatorView(APIView):
    """Runs as the operator role once the key has been checked."""

    authentication_classes = [OperatorKeyAuthentication]
    permission_classes = [IsOperator]
    rate_class = "admin"

    def dispatch(self, request: Any, *args: Any, **kwargs: Any) -> HttpResponseBase:
        with operator():
            return super().dispatch(request, *args, **kwargs)


class OperatorListView(OperatorView, ListAPIView):
    pagination_class = NewestFirst

    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        if unknown := sorted(set(request.query_params) - {"cursor", "limit"}):
            raise ValidationError(dict.fromkeys(unknown, "There is no such filter here."))
        return super().get(request, *args, **kwargs)


class NamespaceSerializer(serializers.ModelSerializer):
    profile = serializers.CharField(source="active_profile.name")
    documents = serializers.IntegerField(source="documents_count")
    chunks = serializers.IntegerField(source="chunk_count")

    class Meta:
        model = Namespace
        fields = [
            "id",
            "slug",
            "name",
            "language",
            "profile",
            "documents",
            "chunks",
            "created_at",
            "deleting_since",
        ]
        read_only_fields = fields


class NewNamespaceSerializer(StrictSerializer):
    slug = serializers.CharField(
        max_length=63, help_text="Lowercase letters, digits and inner hyphens."
    )
    name = serializers.CharField(max_length=200, required=False, allow_blank=True)
    language = serializers.CharField(
        max_length=8,
        required=False,
        allow_blank=True,
        help_text="ISO 639-1 code of its documents' language; blank: detected for each document.",
    )
    profile = serializers.CharField(
        max_length=114,
        default="default",
        help_text="NAME, or NAMESPACE/NAME for a profile that belongs to a namespace.",
    )


class NamespaceChangeSerializer(StrictSerializer):
    slug = serializers.CharField(
        max_length=63, required=False, help_text="Lowercase letters, digits and inner hyphens."
    )
    name = serializers.CharField(max_length=200, required=False, allow_blank=True)


class NamespaceRemovalSerializer(serializers.ModelSerializer):
    rows = serializers.DictField(child=serializers.IntegerField())
    files_left = serializers.ListField(child=serializers.CharField())
    namespace_id = serializers.UUIDField(source="removed_namespace")

    class Meta:
        model = NamespaceRemoval
        fields = [
            "id",
            "namespace_id",
            "slug",
            "state",
            "requested_by",
            "created_at",
            "finished_at",
            "rows",
            "files",
            "files_left",
        ]
        read_only_fields = fields


class KeySerializer(serializers.ModelSerializer):
    scopes = serializers.ListField(child=serializers.CharField())

    class Meta:
        model = ApiKey
        fields = [
            "id",
            "prefix",
            "name",
            "scopes",
            "created_at",
            "expires_at",
            "revoked_at",
            "last_used_at",
        ]
        read_only_fields = fields


class NewKeySerializer(StrictSerializer):
    name = serializers.CharField(max_length=200, required=False, allow_blank=True)
    scopes = serializers.ListField(
        child=serializers.CharField(), allow_empty=False, help_text="Any of read, write, admin."
    )
    expires_at = serializers.DateTimeField(required=False, allow_null=True)

    def validate_scopes(self, scopes: list[str]) -> list[str]:
        known = list(ApiKey.Scope.values)
        if unknown := [scope for scope in scopes if scope not in known]:
            raise serializers.ValidationError(
                f"A namespace's key cannot have the scope {unknown[0]!r}. Use: {', '.join(known)}."
            )
        return list(dict.fromkeys(scopes))


class IssuedKeySerializer(KeySerializer):
    key = serializers.CharField(help_text="The key itself. It is shown only once.")

    class Meta(KeySerializer.Meta):
        fields = [*KeySerializer.Meta.fields, "key"]
        read_only_fields = fields


def counted() -> QuerySet[Namespace]:
    namespaces = Namespace.objects.select_related("active_profile")
    return namespaces.annotate(documents_count=Count("documents"))


def find_namespace(slug: str) -> Namespace:
    found = counted().filter(slug=slug).first()
    if found is None:
        raise NotFound
    return found


class NamespaceListView(OperatorListView):
    serializer_class = NamespaceSerializer

    def get_queryset(self) -> QuerySet[Namespace]:
        return counted()

    @extend_schema(operation_id="namespaces_list")
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        return super().get(request, *args, **kwargs)

    @extend_schema(
        operation_id="namespaces_create",
        request=NewNamespaceSerializer,
        responses={201: NamespaceSerializer},
    )
    def post(self, request: Request) -> Response:
        form = NewNamespaceSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        fields = dict(form.validated_data)
        slug, profile_name = fields.pop("slug"), fields.pop("profile")
        if Namespace.objects.filter(slug=slug).exists():
            raise ApiError("slug_taken", "This slug is taken.", http_status=409)
        try:
            profile = profiles.find_for_operator(profile_name)
        except profiles.UnknownProfile as error:
            raise ValidationError({"profile": str(error)}) from None
        try:
            keys.create_namespace(slug, profile=profile, **fields)
        except ModelError as error:
            raise ValidationError(error.message_dict) from None
        vector_indexes.ensure(profile)
        return Response(NamespaceSerializer(find_namespace(slug)).data, status=201)


class NamespaceView(OperatorView):
    @extend_schema(operation_id="namespaces_get", responses=NamespaceSerializer)
    def get(self, request: Request, slug: str) -> Response:
        return Response(NamespaceSerializer(find_namespace(slug)).data)

    @extend_schema(
        operation_id="namespaces_change",
        request=NamespaceChangeSerializer,
        responses=NamespaceSerializer,
    )
    def patch(self, request: Request, slug: str) -> Response:
        """Rename it. Its keys, links and ids stay; the old slug is free from then on."""
        form = NamespaceChangeSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        changes = form.validated_data
        tenant = find_namespace(slug)
        if tenant.deleting_since is not None:
            raise ApiError("being_deleted", "The namespace is being deleted.", http_status=409)
        taken = Namespace.objects.exclude(pk=tenant.pk)
        if taken.filter(slug=changes.get("slug", slug)).exists():
            raise ApiError("slug_taken", "This slug is taken.", http_status=409)
        try:
            keys.rename_namespace(tenant, **changes)
        except ModelError as error:
            raise ValidationError(error.message_dict) from None
        return Response(NamespaceSerializer(find_namespace(tenant.slug)).data)

    @extend_schema(
        operation_id="namespaces_delete",
        responses={200: NamespaceRemovalSerializer, 202: NamespaceRemovalSerializer},
    )
    def delete(self, request: Request, slug: str) -> Response:
        """Delete the namespace and everything in it. Its keys stop working at once. Returns 200
        with the receipt, or 202 for a large one: poll `GET /namespace-removals/{id}` until
        `finished`."""
        removal = namespace_removal.remove_namespace(find_namespace(slug))
        status = 200 if removal.state == NamespaceRemoval.State.FINISHED else 202
        return Response(NamespaceRemovalSerializer(removal).data, status=status)


class NamespaceKeyListView(OperatorListView):
    serializer_class = KeySerializer

    def get_queryset(self) -> QuerySet[ApiKey]:
        return ApiKey.objects.filter(namespace=find_namespace(self.kwargs["slug"]))

    @extend_schema(operation_id="namespace_keys_list")
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """List keys without their secrets, which cannot be read again."""
        return super().get(request, *args, **kwargs)

    @extend_schema(
        operation_id="namespace_keys_create",
        request=NewKeySerializer,
        responses={201: IssuedKeySerializer},
    )
    def post(self, request: Request, slug: str) -> Response:
        form = NewKeySerializer(data=request.data)
        form.is_valid(raise_exception=True)
        namespace = find_namespace(slug)
        if namespace.deleting_since is not None:
            raise ApiError("being_deleted", "The namespace is being deleted.", http_status=409)
        key, plain = keys.issue(namespace, **form.validated_data)
        key.refresh_from_db()
        return Response({**KeySerializer(key).data, "key": plain}, status=201)


class NamespaceKeyView(OperatorView):
    @extend_schema(operation_id="namespace_keys_revoke", responses={200: KeySerializer})
    def delete(self, request: Request, slug: str, pk: uuid.UUID) -> Response:
        """Revoke the key at once; its record stays."""
        found = ApiKey.objects.filter(namespace=find_namespace(slug), pk=pk)
        if not found.exists():
            raise NotFound
        keys.revoke(found)
        return Response(KeySerializer(found.get()).data)


class RemovalListView(OperatorListView):
    serializer_class = NamespaceRemovalSerializer

    def get_queryset(self) -> QuerySet[NamespaceRemoval]:
        return NamespaceRemoval.objects.all()

    @extend_schema(operation_id="namespace_removals_list")
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """List receipts of namespaces that were or are being deleted."""
        return super().get(request, *args, **kwargs)


class RemovalView(OperatorView):
    @extend_schema(operation_id="namespace_removals_get", responses=NamespaceRemovalSerializer)
    def get(self, request: Request, pk: uuid.UUID) -> Response:
        found = NamespaceRemoval.objects.filter(pk=pk).first()
        if found is None:
            raise NotFound
        return Response(NamespaceRemovalSerializer(found).data)
