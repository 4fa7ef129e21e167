"""The shapes of a question and its answer on the wire."""

from dataclasses import asdict
from typing import Any

from rest_framework import serializers

from documents.api.serializers import SpanSerializer, StrictSerializer
from retrieval.requests import Candidate, Hit, SearchRequest, SearchResult

from .filters import FiltersSerializer, filters_of

LONGEST_QUERY = 4000


class WeightsSerializer(StrictSerializer):
    semantic = serializers.FloatField(min_value=0, max_value=1)
    lexical = serializers.FloatField(min_value=0, max_value=1)

    def validate(self, weights: dict[str, float]) -> dict[str, float]:
        if not any(weights.values()):
            raise serializers.ValidationError("At least one weight must be above 0.")
        return weights


class QuerySerializer(StrictSerializer):
    query = serializers.CharField(max_length=LONGEST_QUERY)
    k = serializers.IntegerField(default=10, min_value=1, max_value=100)
    filters = FiltersSerializer(required=False)
    mode = serializers.ChoiceField(choices=["hybrid", "semantic", "lexical"], default="hybrid")
    fusion = serializers.ChoiceField(choices=["rrf", "weighted"], default="rrf")
    weights = WeightsSerializer(
        required=False, help_text="For fusion `weighted`; equal by default."
    )
    threshold = serializers.FloatField(
        required=False, allow_null=True, help_text="Lowest final score to return."
    )
    rerank = serializers.ChoiceField(
        choices=["auto", "none"], default="auto", help_text="No reranker yet: auto means none."
    )
    max_per_document = serializers.IntegerField(default=2, min_value=1, max_value=100)
    token_budget = serializers.IntegerField(
        required=False, allow_null=True, min_value=1, max_value=1_000_000
    )
    explain = serializers.BooleanField(
        default=False, help_text="List every candidate with its scores and why it was dropped."
    )

    def to_request(self) -> SearchRequest:
        fields = dict(self.validated_data)
        fields.pop("rerank")
        filters = fields.pop("filters", {})
        weights = fields.pop("weights", {"semantic": 0.5, "lexical": 0.5})
        return SearchRequest(
            **fields,
            semantic_weight=weights["semantic"],
            lexical_weight=weights["lexical"],
            filters=filters_of(filters),
        )


class ScoresSerializer(serializers.Serializer):
    vector = serializers.FloatField(allow_null=True, help_text="Cosine similarity.")
    lexical = serializers.FloatField(allow_null=True)
    fused = serializers.FloatField()
    rerank = serializers.FloatField(allow_null=True)
    final = serializers.FloatField()


class RanksSerializer(serializers.Serializer):
    vector = serializers.IntegerField(allow_null=True)
    lexical = serializers.IntegerField(allow_null=True)
    fused = serializers.IntegerField()
    rerank = serializers.IntegerField(allow_null=True)


class HitSerializer(serializers.Serializer):
    chunk_id = serializers.UUIDField()
    document_id = serializers.UUIDField()
    document_version = serializers.IntegerField()
    title = serializers.CharField()
    source_uri = serializers.CharField()
    section = serializers.CharField()
    page = serializers.IntegerField(allow_null=True)
    span = SpanSerializer()
    kind = serializers.CharField()
    content = serializers.CharField()
    scores = ScoresSerializer()
    ranks = RanksSerializer()
    metadata = serializers.JSONField()
    tags = serializers.ListField(child=serializers.CharField())


class CitationSerializer(serializers.Serializer):
    id = serializers.IntegerField(help_text="The number in the context: [1], [2], …")
    chunk_id = serializers.UUIDField()
    document_id = serializers.UUIDField()
    source_uri = serializers.CharField()
    section = serializers.CharField()
    page = serializers.IntegerField(allow_null=True)
    span = SpanSerializer()
    checksum = serializers.CharField(help_text="SHA-256 of the cited text.")


class ContextSerializer(serializers.Serializer):
    text = serializers.CharField()
    tokens = serializers.IntegerField()


class DroppedSerializer(serializers.Serializer):
    chunk_id = serializers.UUIDField()
    reason = serializers.CharField()


class CandidateSerializer(serializers.Serializer):
    chunk_id = serializers.UUIDField()
    document_id = serializers.UUIDField()
    scores = ScoresSerializer()
    ranks = RanksSerializer()
    dropped = serializers.CharField()


class DiagnosticsSerializer(serializers.Serializer):
    profile = serializers.CharField()
    mode = serializers.CharField()
    ann_k = serializers.IntegerField(help_text="Candidates of the vector leg.")
    lexical_k = serializers.IntegerField(help_text="Candidates of the lexical leg.")
    dense_plan = serializers.CharField()
    reranker = serializers.CharField()
    fallbacks = serializers.ListField(child=serializers.CharField())
    cache = serializers.CharField()
    times_ms = serializers.DictField(child=serializers.FloatField())
    dropped = DroppedSerializer(many=True)
    candidates = CandidateSerializer(many=True, required=False)


class QueryAnswerSerializer(serializers.Serializer):
    query = serializers.CharField()
    results = HitSerializer(many=True)
    context = ContextSerializer()  # type: ignore[assignment]
    citations = CitationSerializer(many=True)
    diagnostics = DiagnosticsSerializer()


def answer_of(result: SearchResult) -> dict[str, Any]:
    """The answer as plain data. By hand, because a serializer would be the slowest stage."""
    diagnostics = asdict(result.diagnostics)
    diagnostics |= {"reranker": "none", "cache": "off"}
    if result.diagnostics.candidates:
        diagnostics["candidates"] = [_candidate(c) for c in result.diagnostics.candidates]
    else:
        del diagnostics["candidates"]
    return {
        "query": result.query,
        "results": [_hit(hit) for hit in result.hits],
        "context": {"text": result.context, "tokens": result.context_tokens},
        "citations": [_citation(n, hit) for n, hit in enumerate(result.hits, start=1)],
        "diagnostics": diagnostics,
    }


def _hit(hit: Hit) -> dict[str, Any]:
    return {
        "chunk_id": hit.candidate.chunk_id,
        "document_id": hit.candidate.document_id,
        "document_version": hit.document_version,
        "title": hit.title,
        "source_uri": hit.source_uri,
        "section": hit.section,
        "page": hit.page,
        "span": {"start": hit.start, "end": hit.end},
        "kind": hit.kind,
        "content": hit.content,
        **_judged(hit.candidate),
        "metadata": hit.metadata,
        "tags": hit.tags,
    }


def _citation(number: int, hit: Hit) -> dict[str, Any]:
    return {
        "id": number,
        "chunk_id": hit.candidate.chunk_id,
        "document_id": hit.candidate.document_id,
        "source_uri": hit.source_uri,
        "section": hit.section,
        "page": hit.page,
        "span": {"start": hit.start, "end": hit.end},
        "checksum": hit.chunk_hash,
    }


def _candidate(candidate: Candidate) -> dict[str, Any]:
    return {
        "chunk_id": candidate.chunk_id,
        "document_id": candidate.document_id,
        **_judged(candidate),
        "dropped": candidate.dropped,
    }


def _judged(c: Candidate) -> dict[str, Any]:
    return {
        "scores": {
            "vector": c.vector,
            "lexical": c.lexical,
            "fused": c.fused,
            "rerank": None,
            "final": c.fused,
        },
        "ranks": {
            "vector": c.vector_rank,
            "lexical": c.lexical_rank,
            "fused": c.fused_rank,
            "rerank": None,
        },
    }
