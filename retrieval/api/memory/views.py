"""Facts: search them, read their history, change one."""

import uuid
from collections.abc import Callable
from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from documents.api.facts.listing import StatedSerializer, outcome_shapes
from documents.api.facts.requests import IsoMomentField, TagListField
from documents.api.facts.shapes import FactSerializer, fact_shapes
from documents.api.serializers import StrictSerializer
from documents.api.views import caller_of, check_parameters
from documents.memory import correcting, reading, writing
from documents.memory.erasing import ErasureSelection
from documents.memory.statements import FactConflict
from documents.models import Fact, FactErasure
from ragsite.access.rate_limits import BY_METHOD
from ragsite.database.tenancy import namespace
from retrieval.memory.finding import Recalled, explained, recall
from retrieval.memory.forgetting import forget

from .requests import ErasureSerializer, FactSearchSerializer, recall_request, selection_of
from .scores import FactScoreSerializer

MAX_HISTORY = 1000


class FactChangeSerializer(StrictSerializer):
    """Fields that PATCH may change. The content of a fact cannot change: state another one."""

    certainty = serializers.FloatField(min_value=0, max_value=1, required=False)
    tags = TagListField(max_length=100, required=False)
    source_uri = serializers.CharField(max_length=2048, allow_blank=True, required=False)
    valid_from = IsoMomentField(
        required=False, allow_null=True, help_text="null: it was always true."
    )
    valid_to = IsoMomentField(required=False, allow_null=True, help_text="null: open again.")


class ConfirmationSerializer(StrictSerializer):
    certainty = serializers.FloatField(min_value=0, max_value=1, default=1.0)
    source_uri = serializers.CharField(max_length=2048, allow_blank=True, default="")


class NothingSerializer(StrictSerializer):
    """No options."""


class ErasureReceiptSerializer(serializers.ModelSerializer):
    """How much was erased, without any of the content."""

    class Meta:
        model = FactErasure
        fields = [
            "id",
            "selected_by",
            "facts",
            "statements",
            "vectors",
            "past_states",
            "queries",
            "created_at",
        ]
        read_only_fields = fields


class DocumentWithRowsSerializer(serializers.Serializer):
    document_id = serializers.UUIDField()
    title = serializers.CharField()
    source_uri = serializers.CharField()
    facts = serializers.IntegerField()


class RowsLeftSerializer(serializers.Serializer):
    """Facts from rows of tables that also match. They are not erased, but deleted with their
    documents."""

    facts = serializers.IntegerField()
    documents = DocumentWithRowsSerializer(
        many=True,
        help_text="Documents to delete or replace; those with the most facts first, up to 100.",
    )


class ErasedSerializer(ErasureReceiptSerializer):
    """The receipt, and the facts that are left in tables, which are not stored with the receipt."""

    left_in_tables = RowsLeftSerializer()

    class Meta(ErasureReceiptSerializer.Meta):
        fields = [*ErasureReceiptSerializer.Meta.fields, "left_in_tables"]
        read_only_fields = fields


class FoundFactSerializer(FactSerializer):
    score = serializers.FloatField()
    relevance = serializers.FloatField()
    same_in_tables = serializers.ListField(
        child=serializers.UUIDField(), help_text="Identical facts from rows of tables."
    )
    explanation = FactScoreSerializer(required=False, help_text="With `explain`.")


class FactSearchResultSerializer(serializers.Serializer):
    query = serializers.CharField()
    results = FoundFactSerializer(many=True)
    fallbacks = serializers.ListField(child=serializers.CharField())


class HistorySerializer(serializers.Serializer):
    results = FactSerializer(many=True)


def _found(pk: uuid.UUID) -> QuerySet[Fact]:
    """Find a fact. Raises NotFound for another tenant's id exactly as for an unknown one. Inside
    namespace()."""
    facts = Fact.objects.filter(pk=pk).select_related("document", "version")
    if not facts.exists():
        raise NotFound
    return facts.defer("words", "version__text")


def _act(namespace_id: uuid.UUID, pk: uuid.UUID, act: Callable[[], Any]) -> Any:
    """Run an operation on a fact. Raises NotFound for an unknown one."""
    with namespace(namespace_id):
        _found(pk)
    try:
        return act()
    except Fact.DoesNotExist:  # erased meanwhile
        raise NotFound from None


def _shape(namespace_id: uuid.UUID, pk: uuid.UUID) -> dict[str, Any]:
    with namespace(namespace_id):
        return fact_shapes(_found(pk))[0]


class FactView(APIView):
    rate_class = BY_METHOD

    @extend_schema(operation_id="facts_get", responses=FactSerializer)
    def get(self, request: Request, pk: uuid.UUID) -> Response:
        return Response(_shape(caller_of(request).namespace_id, pk))

    @extend_schema(
        operation_id="facts_change", request=FactChangeSerializer, responses=FactSerializer
    )
    def patch(self, request: Request, pk: uuid.UUID) -> Response:
        """Correct certainty, tags, source or validity by hand."""
        namespace_id = caller_of(request).namespace_id
        with namespace(namespace_id):
            _found(pk)
        form = FactChangeSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        fields = form.validated_data
        _act(namespace_id, pk, lambda: correcting.change(namespace_id, pk, fields))
        return Response(_shape(namespace_id, pk))

    @extend_schema(operation_id="facts_erase_one", responses={200: ErasureReceiptSerializer})
    def delete(self, request: Request, pk: uuid.UUID) -> Response:
        """Erase the fact for good, with its statements, vectors and past states. To correct a
        mistake and keep the history, retract it instead."""
        namespace_id = caller_of(request).namespace_id
        with namespace(namespace_id):
            if _found(pk).get().source == Fact.Source.ROW:
                raise FactConflict("A fact from a table's row is deleted with its document.")
        erased = forget(namespace_id, ErasureSelection(ids=(pk,)))
        return Response(ErasureReceiptSerializer(erased.receipt).data)


class RetractView(APIView):
    rate_class = BY_METHOD

    @extend_schema(operation_id="facts_retract", request=None, responses=FactSerializer)
    def post(self, request: Request, pk: uuid.UUID) -> Response:
        """Retract a fact that was wrong. Facts that it had closed continue; it stays in the
        history."""
        namespace_id = caller_of(request).namespace_id
        _act(namespace_id, pk, lambda: correcting.retract(namespace_id, pk))
        return Response(_shape(namespace_id, pk))


class ConfirmView(APIView):
    rate_class = BY_METHOD

    @extend_schema(
        operation_id="facts_confirm", request=ConfirmationSerializer, responses=StatedSerializer
    )
    def post(self, request: Request, pk: uuid.UUID) -> Response:
        """Confirm a fact: it counts as verified now, and is more certain."""
        namespace_id = caller_of(request).namespace_id
        with namespace(namespace_id):
            _found(pk)
        form = ConfirmationSerializer(data=request.data or {})
        form.is_valid(raise_exception=True)
        given = form.validated_data
        outcome = _act(namespace_id, pk, lambda: correcting.confirm(namespace_id, pk, **given))
        return Response(outcome_shapes(namespace_id, [outcome])[0])


class ApproveView(APIView):
    rate_class = BY_METHOD

    @extend_schema(operation_id="facts_approve", request=None, responses=StatedSerializer)
    def post(self, request: Request, pk: uuid.UUID) -> Response:
        """Turn a proposal into a fact, or into a confirmation of an existing fact."""
        namespace_id = caller_of(request).namespace_id
        outcome = _act(namespace_id, pk, lambda: writing.approve(namespace_id, pk))
        return Response(outcome_shapes(namespace_id, [outcome])[0])


class RejectView(APIView):
    rate_class = BY_METHOD

    @extend_schema(operation_id="facts_reject", request=None, responses=FactSerializer)
    def post(self, request: Request, pk: uuid.UUID) -> Response:
        """Reject a proposal."""
        namespace_id = caller_of(request).namespace_id
        _act(namespace_id, pk, lambda: writing.reject(namespace_id, pk))
        return Response(_shape(namespace_id, pk))


class HistoryView(APIView):
    rate_class = BY_METHOD

    @extend_schema(
        operation_id="facts_history",
        parameters=[
            OpenApiParameter("subject", str, required=True),
            OpenApiParameter("predicate", str),
            OpenApiParameter(
                "user", str, description="Facts of this user and those of no particular user."
            ),
        ],
        responses=HistorySerializer,
    )
    def get(self, request: Request) -> Response:
        """List all facts that were ever held about a subject, in order of validity, including
        retracted ones; the first 1000."""
        check_parameters(request, frozenset({"subject", "predicate", "user"}))
        asked = request.query_params
        if not asked.get("subject", "").strip():
            raise ValidationError({"subject": "This parameter is required."})
        namespace_id = caller_of(request).namespace_id
        with namespace(namespace_id):
            facts = reading.history(
                namespace_id,
                subject=asked["subject"],
                predicate=asked.get("predicate", ""),
                user=asked.get("user"),
            )
            facts = facts.select_related("document", "version").defer("words", "version__text")
            return Response({"results": fact_shapes(facts[:MAX_HISTORY])})


class FactSearchView(APIView):
    scopes = {"POST": "read"}
    rate_class = "search"

    @extend_schema(
        operation_id="facts_search",
        request=FactSearchSerializer,
        responses=FactSearchResultSerializer,
    )
    def post(self, request: Request) -> Response:
        """Search facts for a question, ranked by relevance × certainty × decay. Identical facts are
        merged."""
        form = FactSearchSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        fields = form.validated_data
        namespace_id = caller_of(request).namespace_id
        found = recall(namespace_id, recall_request(fields))
        with namespace(namespace_id):
            shapes = fact_shapes(hit.fact for hit in found.hits)
        results = [
            {**shape, **_scores(hit, explain=fields["explain"])}
            for shape, hit in zip(shapes, found.hits, strict=True)
        ]
        answer = {"query": fields.get("query", ""), "results": results}
        return Response({**answer, "fallbacks": found.fallbacks})


def _scores(hit: Recalled, *, explain: bool) -> dict[str, Any]:
    scores = {
        "score": round(hit.score, 6),
        "relevance": hit.relevance,
        "same_in_tables": hit.copies,
    }
    return {**scores, "explanation": explained(hit)} if explain else scores


class EraseView(APIView):
    rate_class = BY_METHOD

    @extend_schema(
        operation_id="facts_erase", request=ErasureSerializer, responses=ErasedSerializer
    )
    def post(self, request: Request) -> Response:
        """Implement the right to be forgotten: erase facts by id, subject, user or source, with
        their statements, vectors, past states and the logged questions that name them. The receipt
        counts what was erased and contains none of it; `left_in_tables` names the documents to
        delete because their rows still contain matching facts."""
        form = ErasureSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        erased = forget(caller_of(request).namespace_id, selection_of(form.validated_data))
        left = RowsLeftSerializer(erased.left).data
        receipt = ErasureReceiptSerializer(erased.receipt).data
        return Response({**receipt, "left_in_tables": left})
