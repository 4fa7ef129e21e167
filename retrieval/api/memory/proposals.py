"""POST /facts/propose: a language model extracts facts, people approve them."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from documents.api.facts.listing import StatedSerializer, outcome_shapes
from documents.api.serializers import StrictSerializer
from documents.api.views import caller_of
from documents.models import Document
from retrieval.memory.proposing import MAX_TEXT, propose_from_document, propose_from_text


class ProposingSerializer(StrictSerializer):
    """Either a text or a document."""

    schema_rules = {"oneOf": [{"required": ["text"]}, {"required": ["document_id"]}]}

    text = serializers.CharField(max_length=MAX_TEXT, required=False)
    document_id = serializers.UUIDField(
        required=False, help_text=f"Its first {MAX_TEXT:,} characters are read."
    )
    model = serializers.CharField(
        max_length=200, required=False, help_text="A language model's alias; default as in /answer."
    )
    user = serializers.CharField(max_length=200, required=False)
    source_uri = serializers.CharField(
        max_length=2048, required=False, help_text="Source of the text. A document has its own."
    )

    def validate(self, fields: dict[str, Any]) -> dict[str, Any]:
        if ("text" in fields) == ("document_id" in fields):
            raise serializers.ValidationError("Give either text or document_id.")
        if "document_id" in fields and "source_uri" in fields:
            raise serializers.ValidationError({"source_uri": "A document has its own."})
        return fields


class ProposalsSerializer(serializers.Serializer):
    results = StatedSerializer(many=True)
    dropped = serializers.IntegerField(
        help_text="Number of items without an exact quote from the text."
    )


class ProposeView(APIView):
    rate_class = "answer"

    @extend_schema(
        operation_id="facts_propose", request=ProposingSerializer, responses=ProposalsSerializer
    )
    def post(self, request: Request) -> Response:
        """Have a language model extract facts from a text or a document. Each is stored as a
        proposal with the exact span that states it, until it is approved."""
        form = ProposingSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        namespace_id, given = caller_of(request).namespace_id, dict(form.validated_data)
        try:
            if "document_id" in given:
                found = propose_from_document(namespace_id, given.pop("document_id"), **given)
            else:
                found = propose_from_text(namespace_id, given.pop("text"), **given)
        except Document.DoesNotExist:
            raise NotFound from None
        shapes = outcome_shapes(namespace_id, found.outcomes)
        return Response({"results": shapes, "dropped": found.dropped})
