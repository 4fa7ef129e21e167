"""The JSON form of a query and its response."""

import uuid
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from documents.api.fields import NamedChoiceField
from documents.api.json_types import type_errors
from documents.api.serializers import StrictSerializer
from retrieval.context.assembly import CONTEXT_FORMATS
from retrieval.requests import (
    Candidate,
    Diagnostics,
    Explanation,
    Hit,
    SearchRequest,
    SearchResult,
)

from .filters import FiltersSerializer, filters_of
from .hit_shapes import (
    CitationSerializer,
    HitSerializer,
    RanksSerializer,
    ScoresSerializer,
    ids_of,
)
from .memory.requests import IncludeFactsField
from .memory.scores import FactScoreSerializer

MAX_QUERY_LENGTH = 4000


class WeightsSerializer(StrictSerializer):
    schema_rules = {
        "anyOf": [{"properties": {leg: {"exclusiveMinimum": 0}}} for leg in ("semantic", "lexical")]
    }

    semantic = serializers.FloatField(min_value=0, max_value=1)
    lexical = serializers.FloatField(min_value=0, max_value=1)

    def validate(self, weights: dict[str, float]) -> dict[str, float]:
        if not any(weights.values()):
            raise serializers.ValidationError("At least one weight must be above 0.")
        return weights


STAGES = ("vector", "lexical", "fused", "rerank", "final")


@extend_schema_field(
    {
        "oneOf": [
            {"type": "number"},
            {
                "type": "object",
                "properties": {stage: {"type": "number"} for stage in STAGES},
                "additionalProperties": False,
            },
        ]
    }
)
class ThresholdField(serializers.Field):
    """A number for the final score, or an object with a number for each stage."""

    def to_internal_value(self, data: Any) -> tuple[tuple[str, float], ...]:
        by_stage = data if isinstance(data, dict) else {"final": data}
        if unknown := sorted(set(by_stage) - set(STAGES)):
            raise serializers.ValidationError({unknown[0]: f"Stages are {', '.join(STAGES)}."})
        number = serializers.FloatField()
        if wrong := type_errors(dict.fromkeys(by_stage, number), by_stage):
            raise serializers.ValidationError(wrong if isinstance(data, dict) else wrong["final"])
        return tuple((stage, number.run_validation(least)) for stage, least in by_stage.items())

    def to_representation(self, value: Any) -> Any:
        return value


class QuerySerializer(StrictSerializer):
    query = serializers.CharField(max_length=MAX_QUERY_LENGTH)
    k = serializers.IntegerField(default=10, min_value=1, max_value=100)
    filters = FiltersSerializer(required=False)
    mode = NamedChoiceField(choices=["hybrid", "semantic", "lexical"], default="hybrid")
    fusion = NamedChoiceField(
        choices=["weighted", "rrf"],
        default="weighted",
        help_text="`weighted`: a sum of both scores, each scaled to 0…1 over the candidates. "
        "`rrf`: by ranks alone.",
    )
    weights = WeightsSerializer(
        required=False, help_text="Weights of the legs for fusion `weighted`; equal by default."
    )
    rrf_k = serializers.IntegerField(
        default=60, min_value=1, max_value=1000, help_text="The constant of fusion `rrf`."
    )
    min_relevance = serializers.FloatField(
        default=0.0,
        min_value=0,
        max_value=1,
        help_text="Leave out passages with a lower `relevance`.",
    )
    threshold = ThresholdField(
        required=False,
        allow_null=True,
        help_text="Minimum final score, or minimum scores by stage: "
        '`{"vector": 0.3, "fused": 0.2}`. Stages: vector, lexical, fused, rerank, final.',
    )
    rerank = NamedChoiceField(
        choices=["auto", "none", "cosine", "cross-encoder", "remote", "llm", "learned"],
        default="auto",
        help_text="`auto` decides by the question, if a reranker is configured.",
    )
    fast = serializers.BooleanField(
        default=False, help_text="Prefer speed to quality: `auto` never reranks."
    )
    max_per_document = serializers.IntegerField(
        default=None,
        allow_null=True,
        min_value=1,
        max_value=100,
        help_text="Maximum number of passages per document, even if that leaves fewer than k. "
        "By default several documents are preferred, as long as there are k results.",
    )
    mmr_lambda = serializers.FloatField(
        default=1.0,
        min_value=0,
        max_value=1,
        help_text="Below 1, passages that differ from earlier ones are preferred (MMR).",
    )
    expand = NamedChoiceField(
        choices=["none", "section"],
        default="none",
        help_text="`section`: each passage is the whole section around the hit, if not too long.",
    )
    highlight = serializers.BooleanField(
        default=False, help_text="Return the positions of the question's words in each passage."
    )
    token_budget = serializers.IntegerField(
        required=False, allow_null=True, min_value=1, max_value=1_000_000
    )
    context_format = NamedChoiceField(
        choices=CONTEXT_FORMATS,
        default="plain",
        help_text="Format of `context.text`. `plain`: numbered passages. `source_documents`: "
        "Markdown "
        "with a heading for each passage, and citation instructions at the end.",
    )
    include_facts = IncludeFactsField(
        default=False,
        help_text="Put facts from memory among the passages: true, or an object that says which "
        "(subjects, predicates, tags, user, as_of, known_at). `filters` are for passages alone.",
    )
    feedback_boost = serializers.BooleanField(
        default=False,
        help_text="Let feedback on similar questions move passages a little (docs/feedback.md).",
    )
    explain = serializers.BooleanField(
        default=False,
        help_text="List every candidate with its scores and the reason if it was dropped.",
    )


# Shared, because creating it takes longer than using it, and validation does not change it.
_QUERY = QuerySerializer()


def request_of(data: Any) -> SearchRequest:
    """Validate the body of a query. Raises ValidationError."""
    return search_request(dict(_QUERY.run_validation(data)))


def search_request(fields: dict[str, Any]) -> SearchRequest:
    """Create the request from validated fields."""
    filters = fields.pop("filters", {})
    thresholds = fields.pop("threshold", None)
    facts = fields.pop("include_facts", None) or None
    weights = fields.pop("weights", {"semantic": 0.5, "lexical": 0.5})
    return SearchRequest(
        **fields,
        thresholds=thresholds or (),
        semantic_weight=weights["semantic"],
        lexical_weight=weights["lexical"],
        filters=filters_of(filters),
        facts=facts,
    )


class ContextSerializer(serializers.Serializer):
    text = serializers.CharField()
    tokens = serializers.IntegerField()


class DroppedSerializer(serializers.Serializer):
    chunk_id = serializers.UUIDField()
    reason = serializers.CharField()


class NormalisedSerializer(serializers.Serializer):
    vector = serializers.FloatField(allow_null=True)
    lexical = serializers.FloatField(allow_null=True)


class TermSerializer(serializers.Serializer):
    term = serializers.CharField()
    score = serializers.FloatField(help_text="The word's contribution to the BM25 score.")


class VoteSerializer(serializers.Serializer):
    """A piece of feedback that moves the candidate."""

    feedback_id = serializers.UUIDField()
    similarity = serializers.FloatField(
        help_text="Similarity of its question to this one; 1: the same question."
    )
    age_days = serializers.FloatField()
    value = serializers.FloatField(help_text="1: useful, 0.5: selected, -1: not useful.")
    strength = serializers.FloatField(help_text="Its weight.")


class CandidateSerializer(serializers.Serializer):
    chunk_id = serializers.UUIDField()
    document_id = serializers.UUIDField()
    relevance = serializers.FloatField(allow_null=True)
    scores = ScoresSerializer()
    normalised = NormalisedSerializer(help_text="Scaled to 0…1 over the candidates.")
    support = serializers.FloatField(
        allow_null=True, help_text="Mean score of the most similar candidates; null if not used."
    )
    votes = VoteSerializer(many=True, help_text="The votes behind `scores.boost`.")
    ranks = RanksSerializer()
    terms = TermSerializer(many=True)
    dropped = serializers.CharField(
        help_text="The reason if it is not among the results; otherwise blank."
    )


class QueryTermSerializer(serializers.Serializer):
    term = serializers.CharField()
    weight = serializers.FloatField(help_text="Inverse document frequency.")
    chunks = serializers.IntegerField(
        help_text="Number of chunks with the word, when last counted."
    )


class DiagnosticsSerializer(serializers.Serializer):
    profile = serializers.CharField()
    mode = serializers.CharField()
    fusion = serializers.CharField()
    ann_k = serializers.IntegerField(help_text="Number of candidates from the vector leg.")
    lexical_k = serializers.IntegerField(help_text="Number of candidates from the lexical leg.")
    dense_plan = serializers.CharField()
    reranker = serializers.CharField()
    fallbacks = serializers.ListField(
        child=serializers.CharField(), help_text="Parts that failed, and what was used instead."
    )
    notes = serializers.ListField(
        child=serializers.CharField(),
        help_text="Notes on parts of the request that could not be followed.",
    )
    cache = serializers.CharField()
    times_ms = serializers.DictField(child=serializers.FloatField())
    dropped = DroppedSerializer(many=True)
    filters = serializers.JSONField(
        required=False, help_text="With `explain`: the question as interpreted."
    )
    terms = QueryTermSerializer(
        many=True, required=False, help_text="With `explain`: the question's words."
    )
    candidates = CandidateSerializer(many=True, required=False, help_text="With `explain`.")
    facts = FactScoreSerializer(
        many=True, required=False, help_text="With `explain` and `include_facts`."
    )


class QueryAnswerSerializer(serializers.Serializer):
    query_id = serializers.UUIDField(
        allow_null=True,
        help_text="Id of this request for `POST /feedback`; null without a query log.",
    )
    query = serializers.CharField()
    relevance = serializers.FloatField(
        allow_null=True, help_text="The relevance of the best result; 0 without results."
    )
    results = HitSerializer(many=True)
    context = ContextSerializer()  # type: ignore[assignment]
    citations = CitationSerializer(many=True)
    diagnostics = DiagnosticsSerializer()


def answer_of(result: SearchResult, query_id: uuid.UUID | None = None) -> dict[str, Any]:
    """Return the response as plain data, without a serializer, which would be the slowest stage.
    Without an entry in the query log there is no `query_id`."""
    return {
        "query_id": query_id,
        "query": result.query,
        "relevance": result.relevance,
        "results": [_hit(hit) for hit in result.hits],
        "context": {"text": result.context, "tokens": result.context_tokens},
        "citations": [_citation(n, hit) for n, hit in enumerate(result.hits, start=1)],
        "diagnostics": diagnostics_of(result.diagnostics, cache=result.cache),
    }


def diagnostics_of(diagnostics: Diagnostics, *, cache: str) -> dict[str, Any]:
    shown = {
        "profile": diagnostics.profile,
        "mode": diagnostics.mode,
        "fusion": diagnostics.fusion,
        "ann_k": diagnostics.ann_k,
        "lexical_k": diagnostics.lexical_k,
        "dense_plan": diagnostics.dense_plan,
        "reranker": diagnostics.reranker,
        "fallbacks": diagnostics.fallbacks,
        "notes": diagnostics.notes,
        "cache": cache,
        "times_ms": diagnostics.times_ms,
        "dropped": diagnostics.dropped,
    }
    if diagnostics.is_explained:
        shown["filters"] = diagnostics.filters
        shown["terms"] = diagnostics.terms
        shown["facts"] = diagnostics.facts
        shown["candidates"] = [_candidate(e) for e in diagnostics.candidates]
    return shown


def _hit(hit: Hit) -> dict[str, Any]:
    return {
        **ids_of(hit),
        "title": hit.title,
        "source_uri": hit.source_uri,
        "section": hit.section,
        "page": hit.page,
        "page_end": hit.page_end,
        "ordinal": hit.ordinal,
        "span": {"start": hit.start, "end": hit.end},
        "kind": hit.kind,
        "mime": hit.media_type.partition(";")[0],  # without its charset
        "created_at": hit.created_at,
        "collection": hit.collection,
        "collections": list(hit.collections),
        "content": hit.content,
        **_judged(hit.candidate),
        "highlights": [{"start": span.start, "end": span.end} for span in hit.highlights],
        "merged_chunk_ids": hit.merged,
        "metadata": hit.metadata,
        "chunk_metadata": hit.chunk_metadata,
        "tags": hit.tags,
        "fact": hit.fact,
    }


def _citation(number: int, hit: Hit) -> dict[str, Any]:
    return {
        "id": number,
        **ids_of(hit),
        "source_uri": hit.source_uri,
        "section": hit.section,
        "page": hit.page,
        "span": {"start": hit.start, "end": hit.end},
        "checksum": hit.checksum,
        "fact": hit.fact,
    }


def _candidate(explanation: Explanation) -> dict[str, Any]:
    candidate = explanation.candidate
    return {
        "chunk_id": candidate.chunk_id,
        "document_id": candidate.document_id,
        **_judged(candidate),
        "normalised": {"vector": candidate.similarity_normal, "lexical": candidate.lexical_normal},
        "support": candidate.support,
        "votes": candidate.votes,
        "terms": [{"term": match.term, "score": match.score} for match in explanation.terms],
        "dropped": candidate.dropped,
    }


def _judged(c: Candidate) -> dict[str, Any]:
    return {
        "relevance": c.relevance,
        "scores": {
            "vector": c.similarity,
            "lexical": c.lexical,
            "fused": c.fused,
            "rerank": c.rerank,
            "boost": c.boost,
            "final": c.final,
        },
        "ranks": {
            "vector": c.similarity_rank,
            "lexical": c.lexical_rank,
            "fused": c.fused_rank,
            "rerank": c.rerank_rank,
        },
    }
