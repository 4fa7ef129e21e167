"""POST /reindex: move the namespace to another index profile; GET /reindex: show the progress."""

import uuid
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from documents.api.fields import NamedChoiceField
from documents.api.serializers import FailureSerializer, StrictSerializer
from documents.api.views import caller_of
from documents.errors import IngestError
from documents.models import IndexProfile, Namespace, Reindex
from documents.profiles import profiles
from documents.reindex import estimate as estimating
from documents.reindex import switching
from ragsite.database.tenancy import namespace
from ragsite.platform.errors import ApiError
from retrieval.inspection import parity

CONFLICTS = {"no_reindex": 404}
NEED_A_PROFILE = ("estimate", "build")


class ReindexRequestSerializer(StrictSerializer):
    schema_rules = {
        "oneOf": [
            {"required": ["profile"], "properties": {"action": {"enum": list(NEED_A_PROFILE)}}},
            {
                "required": ["action"],
                "properties": {"action": {"not": {"enum": list(NEED_A_PROFILE)}}, "profile": False},
            },
        ]
    }
    action = NamedChoiceField(
        choices=[
            "estimate",
            "build",
            "compare",
            "switch",
            "rollback",
            "reclaim",
            "cancel",
            "outdated",
        ],
        default="build",
    )
    profile = serializers.CharField(
        max_length=50, required=False, help_text="The new profile, for estimate and build."
    )
    accept_failures = serializers.BooleanField(
        default=False, help_text="For switch: accept that some documents could not be indexed."
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs["action"] in NEED_A_PROFILE and not attrs.get("profile"):
            raise ValidationError({"profile": "This action needs a profile."})
        if attrs["action"] not in NEED_A_PROFILE and "profile" in attrs:
            raise ValidationError({"profile": "Only estimate and build take a profile."})
        return attrs


class ReindexEstimateSerializer(serializers.Serializer):
    documents = serializers.IntegerField()
    chunks = serializers.IntegerField()
    tokens = serializers.IntegerField()
    seconds = serializers.FloatField()
    cost = serializers.FloatField(
        allow_null=True, help_text="In the embedder's currency; null without a price."
    )


class ProgressSerializer(serializers.Serializer):
    documents = serializers.IntegerField()
    done = serializers.IntegerField()
    failed = serializers.IntegerField()
    seconds_left = serializers.FloatField(allow_null=True)


class ParitySerializer(serializers.Serializer):
    by = serializers.CharField(help_text="A golden set, the query log, or sampled passages.")
    questions = serializers.IntegerField()
    overlap_at_10 = serializers.FloatField(allow_null=True)
    documents_overlap_at_10 = serializers.FloatField(allow_null=True)
    score_shift = serializers.FloatField(allow_null=True)
    least_alike = serializers.ListField(child=serializers.DictField())
    measures = serializers.DictField(
        required=False, help_text="For a golden set: each measure before and after."
    )


class ReindexStatusSerializer(serializers.Serializer):
    profile = serializers.CharField()
    replaces = serializers.CharField()
    state = serializers.ChoiceField(choices=Reindex.State.values)
    stage = serializers.ChoiceField(choices=Reindex.Stage.values)
    progress = ProgressSerializer()
    failures = serializers.DictField()
    error = FailureSerializer(allow_null=True)
    parity = ParitySerializer(allow_null=True)
    created_at = serializers.DateTimeField()
    built_at = serializers.DateTimeField(allow_null=True)
    switched_at = serializers.DateTimeField(allow_null=True)


class ReindexAnswerSerializer(serializers.Serializer):
    active_profile = serializers.CharField(help_text="The profile that searches use now.")
    reindex = ReindexStatusSerializer(
        allow_null=True,
        help_text="The reindex in progress or still reversible; null if there is none.",
    )
    estimate = ReindexEstimateSerializer(required=False)
    queued_documents = serializers.IntegerField(required=False)


def status_of(namespace_id: uuid.UUID) -> dict[str, Any]:
    with namespace(namespace_id):
        tenant = Namespace.objects.select_related("active_profile").get(pk=namespace_id)
        reindex = switching.current(namespace_id)
        current = None
        if reindex is not None:
            error = {"code": reindex.error_code, "message": reindex.error_message}
            current = {
                "profile": reindex.profile.name,
                "replaces": reindex.replaces.name,
                "state": reindex.state,
                "stage": reindex.stage,
                "progress": asdict(switching.progress(reindex)),
                "failures": reindex.failures,
                "error": error if reindex.error_code else None,
                "parity": reindex.parity,
                "created_at": reindex.created_at,
                "built_at": reindex.built_at,
                "switched_at": reindex.switched_at,
            }
    return {"active_profile": tenant.active_profile.name, "reindex": current}


def act(namespace_id: uuid.UUID, wish: dict[str, Any]) -> dict[str, Any]:
    """The results of an action, in addition to the status."""

    def profile() -> IndexProfile:
        return _profile(wish["profile"], namespace_id)

    def compare() -> None:
        with namespace(namespace_id):
            reindex = switching.current(namespace_id)
        if reindex is None:
            raise switching.Behind("There is nothing to compare: no profile has been built yet.")
        parity.compare(reindex)

    actions: dict[str, tuple[str, Callable[[], Any]]] = {
        "estimate": (
            "estimate",
            lambda: asdict(estimating.estimate(namespace_id, profile())),
        ),
        "build": ("", lambda: switching.start(namespace_id, profile())),
        "compare": ("", compare),
        "switch": (
            "",
            lambda: switching.switch(namespace_id, accept_failures=wish["accept_failures"]),
        ),
        "rollback": ("", lambda: switching.roll_back(namespace_id)),
        "reclaim": ("", lambda: switching.reclaim(namespace_id)),
        "cancel": ("", lambda: switching.cancel(namespace_id)),
        "outdated": ("queued_documents", lambda: len(switching.index_outdated(namespace_id))),
    }
    name, run = actions[wish["action"]]
    result = run()
    return {name: result} if name else {}


def _profile(name: str, namespace_id: uuid.UUID) -> IndexProfile:
    profile = profiles.find_for_tenant(name, namespace_id=namespace_id)
    if profile is None:
        raise ValidationError({"profile": "There is no such profile: see GET /profiles."})
    return profile


class NamespaceReindexView(APIView):
    scopes = {"GET": "admin", "POST": "admin"}
    rate_class = "admin"

    @extend_schema(operation_id="reindex_status", responses=ReindexAnswerSerializer)
    def get(self, request: Request) -> Response:
        return Response(status_of(caller_of(request).namespace_id))

    @extend_schema(
        operation_id="reindex",
        request=ReindexRequestSerializer,
        responses={200: ReindexAnswerSerializer, 202: ReindexAnswerSerializer},
    )
    def post(self, request: Request) -> Response:
        """Build a profile next to the live one (202, in the background), then compare, switch, roll
        back or reclaim. Searches continue throughout and never mix the two."""
        form = ReindexRequestSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        wish = form.validated_data
        namespace_id = caller_of(request).namespace_id
        try:
            result = act(namespace_id, wish)
        except IngestError as error:
            status = CONFLICTS.get(error.code, 409)
            raise ApiError(error.code, str(error), http_status=status) from None
        in_background = wish["action"] in ("build", "outdated", "reclaim", "cancel")
        return Response({**status_of(namespace_id), **result}, status=202 if in_background else 200)
