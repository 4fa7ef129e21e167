"""The JSON form of golden sets, queries, judgements and runs."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from documents.api.fields import TagsField
from documents.api.serializers import FailureSerializer, SpanSerializer, StrictSerializer
from evaluation.models import EvaluationRun, GoldenQuery, GoldenSet, Judgement, QueryScore
from evaluation.models.golden import HIGHEST_GRADE, MAX_PART
from retrieval.api.filters import FiltersField

from .options import OptionsSerializer

MAX_QUERY_LENGTH = 4000
MAX_JUDGEMENTS = 1000


class GoldenSetSerializer(serializers.ModelSerializer):
    queries = serializers.IntegerField(source="queries_count", help_text="Number of queries.")

    class Meta:
        model = GoldenSet
        fields = ["id", "name", "description", "queries", "created_at", "updated_at"]
        read_only_fields = fields


class GoldenSetFormSerializer(StrictSerializer):
    name = serializers.CharField(max_length=200)
    description = serializers.CharField(max_length=10_000, default="", allow_blank=True)


class JudgementSerializer(serializers.ModelSerializer):
    span = serializers.SerializerMethodField()
    hard_negative = serializers.BooleanField(source="is_hard_negative")

    class Meta:
        model = Judgement
        fields = [
            "id",
            "document_id",
            "source_uri",
            "span",
            "quote",
            "grade",
            "part",
            "hard_negative",
            "created_at",
        ]
        read_only_fields = fields

    @extend_schema_field(SpanSerializer(allow_null=True))
    def get_span(self, judgement: Judgement) -> dict[str, int | None] | None:
        if judgement.start is None:
            return None
        return {"start": judgement.start, "end": judgement.end}


class SpanFormSerializer(StrictSerializer):
    start = serializers.IntegerField(min_value=0, max_value=2**31 - 1)
    end = serializers.IntegerField(min_value=1, max_value=2**31 - 1)


class JudgementFormSerializer(StrictSerializer):
    """A judgement on a whole document, or on a part of it by `span` or `quote`."""

    schema_rules = {"oneOf": [{"required": [name]} for name in ("document_id", "source_uri")]}

    document_id = serializers.UUIDField(required=False)
    source_uri = serializers.CharField(
        max_length=2048, required=False, help_text="Instead of document_id."
    )
    span = SpanFormSerializer(required=False, allow_null=True)
    quote = serializers.CharField(
        max_length=100_000, default="", allow_blank=True, trim_whitespace=False
    )
    grade = serializers.IntegerField(min_value=0, max_value=HIGHEST_GRADE, required=False)
    part = serializers.IntegerField(
        default=0,
        min_value=0,
        max_value=MAX_PART,
        help_text="Part of the answer: for `answer@context` one text of each part must be present.",
    )
    hard_negative = serializers.BooleanField(default=False)

    def validate(self, fields: dict[str, Any]) -> dict[str, Any]:
        if ("document_id" in fields) == ("source_uri" in fields):
            raise serializers.ValidationError("Name the document by document_id or source_uri.")
        fields.setdefault("grade", 0 if fields["hard_negative"] else 1)
        return fields


class GoldenQuerySerializer(serializers.ModelSerializer):
    query = serializers.CharField(source="text")
    golden_set_id = serializers.UUIDField()
    filters = serializers.JSONField()
    judgements = JudgementSerializer(many=True)

    class Meta:
        model = GoldenQuery
        fields = [
            "id",
            "golden_set_id",
            "external_id",
            "query",
            "filters",
            "tags",
            "notes",
            "judgements",
            "created_at",
        ]
        read_only_fields = fields


class GoldenQueryChangeSerializer(StrictSerializer):
    """Omitted fields stay as they are."""

    query = serializers.CharField(max_length=MAX_QUERY_LENGTH, required=False)
    filters = FiltersField(required=False, help_text="As in `POST /query`.")
    tags = TagsField(max_length=100, required=False)
    notes = serializers.CharField(max_length=10_000, required=False, allow_blank=True)


class GoldenQueryFormSerializer(GoldenQueryChangeSerializer):
    query = serializers.CharField(max_length=MAX_QUERY_LENGTH)
    judgements = JudgementFormSerializer(  # type: ignore[call-arg]
        many=True, required=False, max_length=MAX_JUDGEMENTS
    )


class RunFormSerializer(OptionsSerializer):
    golden_set_id = serializers.UUIDField()
    name = serializers.CharField(
        max_length=200, default="", allow_blank=True, help_text="A name for the run."
    )


class EstimateSerializer(serializers.Serializer):
    mean = serializers.FloatField()
    low = serializers.FloatField(help_text="Lower end of the 95 % interval.")
    high = serializers.FloatField()
    queries = serializers.IntegerField(
        required=False, help_text="For `answer@context`: the number of queries with judged text."
    )


class LatencySerializer(serializers.Serializer):
    p50 = serializers.FloatField()
    p95 = serializers.FloatField()
    p99 = serializers.FloatField()
    mean = serializers.FloatField()


class RunSerializer(serializers.ModelSerializer):
    golden_set_id = serializers.UUIDField()
    name = serializers.CharField(source="label")
    options = serializers.JSONField()
    configuration = serializers.JSONField(
        help_text="Everything that determines the figures: options, settings, profile, model, "
        "content, questions."
    )
    metrics = serializers.DictField(child=EstimateSerializer())
    latency_ms = serializers.DictField(child=LatencySerializer(), help_text="By stage.")
    tokens = serializers.DictField(
        child=serializers.FloatField(), help_text="Tokens of the context, for k results."
    )
    warnings = serializers.ListField(child=serializers.CharField())
    error = serializers.SerializerMethodField()

    class Meta:
        model = EvaluationRun
        fields = [
            "id",
            "golden_set_id",
            "name",
            "state",
            "queries_done",
            "queries_total",
            "options",
            "configuration",
            "code_version",
            "metrics",
            "latency_ms",
            "tokens",
            "warnings",
            "error",
            "created_at",
            "started_at",
            "finished_at",
        ]
        read_only_fields = fields

    @extend_schema_field(FailureSerializer(allow_null=True))
    def get_error(self, run: EvaluationRun) -> dict[str, str] | None:
        if not run.error_code:
            return None
        return {"code": run.error_code, "message": run.error_message}


class ScoreSerializer(serializers.ModelSerializer):
    query = serializers.CharField(source="text")
    query_id = serializers.UUIDField(allow_null=True)
    metrics = serializers.DictField(child=serializers.FloatField())
    judged = serializers.JSONField(
        help_text="Each judgement with its grade, its final rank, its rank at every stage, and the "
        "reason if it is not in the ranking."
    )
    ranking = serializers.JSONField(help_text="The results, with rank and score at every stage.")
    times_ms = serializers.DictField(child=serializers.FloatField())
    fallbacks = serializers.ListField(child=serializers.CharField())

    class Meta:
        model = QueryScore
        fields = [
            "ordinal",
            "query_id",
            "query",
            "metrics",
            "judged",
            "ranking",
            "times_ms",
            "tokens",
            "fallbacks",
        ]
        read_only_fields = fields


class MeasuredSerializer(EstimateSerializer):
    """b − a: mean gain, its interval, and the p-value of a paired randomisation test."""

    a = serializers.FloatField()
    b = serializers.FloatField()
    gain = serializers.FloatField()
    p_value = serializers.FloatField()
    mean = None  # type: ignore[assignment]
    queries = None  # type: ignore[assignment]


class ChangeSerializer(serializers.Serializer):
    text = serializers.CharField()
    a = serializers.FloatField()
    b = serializers.FloatField()
    gain = serializers.FloatField()
    answers = serializers.JSONField(
        help_text="Every relevant judgement with its rank at each stage in a and in b."
    )


class ComparisonSerializer(serializers.Serializer):
    a = serializers.UUIDField()
    b = serializers.UUIDField()
    measure = serializers.CharField(help_text="The measure by which wins and losses are counted.")
    queries = serializers.IntegerField(help_text="Number of queries that both runs have.")
    measures = serializers.DictField(child=MeasuredSerializer())
    wins = ChangeSerializer(many=True)
    losses = ChangeSerializer(many=True)
    ties = serializers.IntegerField()
    warnings = serializers.ListField(child=serializers.CharField())
