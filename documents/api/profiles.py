"""List index profiles, and create new ones to reindex to."""

from typing import Any

from django.core.exceptions import ValidationError as ModelError
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from documents.errors import IngestError
from documents.models import IndexProfile
from documents.profiles import profiles
from documents.profiles.ann_methods import MAX_DIMENSIONS
from ragsite.access.rate_limits import BY_METHOD
from ragsite.platform.errors import ApiError

from .fields import NamedChoiceField
from .serializers import StrictSerializer
from .views import caller_of


class ProfileSerializer(serializers.ModelSerializer):
    chunker_options = serializers.JSONField()
    ann_options = serializers.JSONField()
    store_options = serializers.JSONField()
    shared = serializers.SerializerMethodField(
        help_text="Whether all namespaces see it, or only the one that created it and those that "
        "use it."
    )

    class Meta:
        model = IndexProfile
        fields = [
            "name",
            "shared",
            "chunker",
            "chunker_options",
            "chunk_size",
            "chunk_overlap",
            "contextual_header",
            "embedder",
            "model_identity",
            "dimensions",
            "ann_method",
            "ann_options",
            "store",
            "store_options",
            "ingestion_version",
            "created_at",
        ]
        read_only_fields = fields

    def get_shared(self, profile: IndexProfile) -> bool:
        return profile.namespace_id is None


class ProfileListSerializer(serializers.Serializer):
    results = ProfileSerializer(many=True)


class NewProfileSerializer(StrictSerializer):
    """Omitted fields are derived: sizes from the chunker, dimensions from the model."""

    name = serializers.SlugField(max_length=50)
    chunker = NamedChoiceField(choices=IndexProfile.Chunker.values, required=False)
    chunker_options = serializers.DictField(child=serializers.IntegerField(), required=False)
    chunk_size = serializers.IntegerField(min_value=1, max_value=20_000, required=False)
    chunk_overlap = serializers.IntegerField(min_value=0, max_value=10_000, required=False)
    contextual_header = serializers.BooleanField(required=False)
    embedder = serializers.CharField(
        max_length=50, required=False, help_text="An alias in EMBEDDERS."
    )
    dimensions = serializers.IntegerField(
        min_value=1,
        max_value=MAX_DIMENSIONS,
        required=False,
        help_text="Must equal the embedder's dimensions, which are the default.",
    )
    ann_method = NamedChoiceField(choices=IndexProfile.Ann.values, required=False)
    ann_options = serializers.DictField(
        child=serializers.IntegerField(),
        required=False,
        help_text="hnsw: m, ef_construction; bit: these and rescore; ivfflat: lists, probes; "
        "scann: num_leaves.",
    )
    store = serializers.CharField(
        max_length=50,
        required=False,
        help_text="pgvector, or a search store of this installation, such as qdrant or chroma.",
    )
    store_options = serializers.DictField(
        required=False,
        help_text="qdrant: quantization, shards, replicas, m, ef_construct, on_disk.",
    )


class ProfileListView(APIView):
    scopes = {"POST": "admin"}
    rate_class = {**BY_METHOD, "POST": "admin"}

    @extend_schema(operation_id="profiles_list", responses=ProfileListSerializer)
    def get(self, request: Request) -> Response:
        """List the shared profiles, the namespace's own, and those that it uses or has used."""
        visible = profiles.visible_to(caller_of(request).namespace_id)
        found = ProfileSerializer(visible, many=True)
        return Response({"results": found.data})

    @extend_schema(
        operation_id="profiles_create",
        request=NewProfileSerializer,
        responses={201: ProfileSerializer},
    )
    def post(self, request: Request) -> Response:
        """Create a profile that only this namespace sees. A profile never changes, and nothing is
        indexed under it before a reindex."""
        form = NewProfileSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        fields: dict[str, Any] = dict(form.validated_data)
        try:
            owner = caller_of(request).namespace_id
            profile = profiles.create(fields.pop("name"), namespace_id=owner, **fields)
        except ModelError as error:
            raise ValidationError(error.message_dict) from None
        except IngestError as error:
            raise ApiError(error.code, str(error), http_status=422) from None
        return Response(ProfileSerializer(profile).data, status=201)
