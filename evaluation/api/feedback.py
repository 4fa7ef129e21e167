"""POST /feedback: a user's feedback on an answer; GET /feedback: all feedback, for curators."""

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from documents.api.fields import MOMENT, MomentField
from documents.api.serializers import SpanSerializer, StrictSerializer
from documents.api.views import NamespacedListView, caller_of
from evaluation.golden.feedback import record_feedback
from evaluation.models import Feedback, SelectedPassage
from ragsite.database.tenancy import namespace
from ragsite.web.openapi import NOT_BLANK
from retrieval.api.filters import FiltersField

from .errors import enveloped
from .serializers import MAX_QUERY_LENGTH

MAX_SELECTED = 100  # as many as a query returns at most
MAX_COMMENT_LENGTH = 4000
USEFUL = {"true": True, "false": False, "unsaid": None}


# Null counts as absent, and at least one kind of feedback is required.
_BY_ID = {"query_id": {"type": "string"}, "query": {"type": "null"}}
_BY_TEXT = {"query_id": {"type": "null"}, "query": {"type": "string"}}
_SOMETHING: dict[str, dict[str, Any]] = {
    "selected_chunk_ids": {"minItems": 1},
    "useful": {"type": "boolean"},
    "comment": {"pattern": NOT_BLANK},
}


class FeedbackFormSerializer(StrictSerializer):
    """Feedback on the query with this `query_id`, or on a question by its text."""

    schema_rules = {
        "allOf": [
            {
                "oneOf": [
                    {"required": ["query_id"], "properties": {**_BY_ID, "filters": False}},
                    {"required": ["query"], "properties": _BY_TEXT},
                ]
            },
            {
                "anyOf": [
                    {"required": [name], "properties": {name: rule}}
                    for name, rule in _SOMETHING.items()
                ]
            },
        ]
    }

    query_id = serializers.UUIDField(
        required=False, allow_null=True, help_text="From the response of `POST /query`."
    )
    query = serializers.CharField(
        max_length=MAX_QUERY_LENGTH,
        required=False,
        allow_null=True,
        help_text="Instead of query_id: the question itself.",
    )
    filters = FiltersField(required=False, help_text="With `query`: the filters of that query.")
    selected_chunk_ids = serializers.ListField(
        child=serializers.UUIDField(),
        max_length=MAX_SELECTED,
        default=list,
        help_text="The chunk_id of results that were clicked on, copied or cited.",
    )
    useful = serializers.BooleanField(allow_null=True, default=None)
    comment = serializers.CharField(max_length=MAX_COMMENT_LENGTH, default="", allow_blank=True)

    def validate(self, fields: dict[str, Any]) -> dict[str, Any]:
        fields = {name: value for name, value in fields.items() if value is not None}
        if "query_id" not in fields and "query" not in fields:
            raise ValidationError("Identify the question by query_id or query.", code="no_question")
        if "query_id" in fields and fields.keys() & {"query", "filters"}:
            raise ValidationError(
                "With query_id the question and its filters are known: send neither query nor "
                "filters.",
                code="two_questions",
            )
        if not fields["selected_chunk_ids"] and not fields["comment"] and "useful" not in fields:
            raise ValidationError(
                "Send at least one of selected_chunk_ids, useful and comment.", code="nothing_said"
            )
        return fields


class SelectedPassageSerializer(serializers.ModelSerializer):
    source_uri = serializers.CharField(source="document.source_uri")
    span = SpanSerializer(source="*")
    quote = serializers.CharField(
        help_text="The chunk's text, by which it is found in later versions."
    )

    class Meta:
        model = SelectedPassage
        fields = ["chunk_id", "document_id", "source_uri", "span", "quote"]
        read_only_fields = fields


class FeedbackSerializer(serializers.ModelSerializer):
    query_id = serializers.UUIDField(
        source="query_log_id",
        allow_null=True,
        help_text="Null without one, and after the entry was deleted from the query log.",
    )
    filters = serializers.JSONField()
    selected = serializers.SerializerMethodField(
        help_text="The selected chunks by document and place; not those of deleted documents."
    )

    class Meta:
        model = Feedback
        fields = [
            "id",
            "query_id",
            "query",
            "filters",
            "selected_chunk_ids",
            "selected",
            "useful",
            "comment",
            "request_id",
            "created_at",
        ]
        read_only_fields = fields

    @extend_schema_field(SelectedPassageSerializer(many=True))
    def get_selected(self, feedback: Feedback) -> Any:
        return SelectedPassageSerializer(feedback.selected.all(), many=True).data


class FeedbackListView(NamespacedListView):
    serializer_class = FeedbackSerializer
    filter_names = frozenset({"useful", "since"})
    choices = {"useful": list(USEFUL)}
    # Clients that may search may send feedback; other people's feedback is for curators.
    scopes = {"POST": "read", "GET": "write"}

    def get_queryset(self) -> QuerySet[Feedback]:
        asked = self.request.query_params
        feedback = Feedback.objects.prefetch_related("selected__document")
        if "useful" in asked:
            feedback = feedback.filter(useful=USEFUL[asked["useful"]])
        if "since" in asked:
            try:
                since = MomentField().run_validation(asked["since"])
            except ValidationError as error:
                raise ValidationError({"since": error.detail}) from None
            feedback = feedback.filter(created_at__gte=since)
        return feedback

    @extend_schema(
        operation_id="feedback_list",
        parameters=[
            OpenApiParameter("useful", str, enum=list(USEFUL)),
            OpenApiParameter("since", MOMENT, description="A date or a time in ISO 8601."),
        ],
    )
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """List feedback, newest first. Requires the scope `write`, like curating."""
        return super().get(request, *args, **kwargs)

    @extend_schema(
        operation_id="feedback_create",
        request=FeedbackFormSerializer,
        responses={201: FeedbackSerializer},
    )
    def post(self, request: Request) -> Response:
        """Report which passages were selected and whether the answer was useful. There may be
        several reports per question, such as one for each click."""
        form = FeedbackFormSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        namespace_id = caller_of(request).namespace_id
        with enveloped():
            feedback = record_feedback(namespace_id, **form.validated_data)
        with namespace(namespace_id):
            return Response(FeedbackSerializer(feedback).data, status=201)
