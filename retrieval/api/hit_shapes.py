"""The JSON form of a hit and its citation."""

from typing import Any

from rest_framework import serializers

from documents.api.facts.shapes import AnyJsonField
from documents.api.serializers import SpanSerializer
from retrieval.requests import Hit


class ScoresSerializer(serializers.Serializer):
    vector = serializers.FloatField(allow_null=True, help_text="Cosine similarity.")
    lexical = serializers.FloatField(allow_null=True, help_text="BM25.")
    fused = serializers.FloatField()
    rerank = serializers.FloatField(allow_null=True)
    boost = serializers.FloatField(
        allow_null=True, help_text="The addition by feedback (`feedback_boost`); null: none."
    )
    final = serializers.FloatField(help_text="`rerank`, else `fused`, plus `boost`.")


class RanksSerializer(serializers.Serializer):
    vector = serializers.IntegerField(allow_null=True)
    lexical = serializers.IntegerField(allow_null=True)
    fused = serializers.IntegerField()
    rerank = serializers.IntegerField(allow_null=True)


class FactPlaceSerializer(serializers.Serializer):
    """Where a fact comes from."""

    kind = serializers.CharField()
    stated_at = serializers.DateTimeField()
    source_uri = serializers.CharField()
    document_id = serializers.UUIDField(allow_null=True)
    version = serializers.IntegerField(allow_null=True)
    span = SpanSerializer(allow_null=True)
    turn_id = serializers.UUIDField(allow_null=True)


class FactNoteSerializer(serializers.Serializer):
    """A fact from memory among the passages: its content, and how far it can be trusted."""

    id = serializers.UUIDField()
    subject = serializers.CharField()
    predicate = serializers.CharField()
    object = AnyJsonField()
    user = serializers.CharField()
    certainty = serializers.FloatField()
    decay = serializers.FloatField(help_text="Factor for its age.")
    valid_from = serializers.DateTimeField(allow_null=True)
    valid_to = serializers.DateTimeField(allow_null=True)
    last_verified_at = serializers.DateTimeField()
    provenances = FactPlaceSerializer(many=True, help_text="The latest five statements.")


FACT = "Only for a fact from memory (`include_facts`); null for a passage."
OF_PASSAGES = "null for a fact from memory."


class HitSerializer(serializers.Serializer):
    chunk_id = serializers.UUIDField(allow_null=True, help_text=OF_PASSAGES)
    document_id = serializers.UUIDField(allow_null=True, help_text=OF_PASSAGES)
    document_version = serializers.IntegerField(allow_null=True, help_text=OF_PASSAGES)
    title = serializers.CharField()
    source_uri = serializers.CharField()
    section = serializers.CharField()
    page = serializers.IntegerField(allow_null=True)
    page_end = serializers.IntegerField(
        allow_null=True, help_text="The last page of the passage; usually equal to `page`."
    )
    ordinal = serializers.IntegerField(help_text="The chunk's index in its document, from 0.")
    span = SpanSerializer()
    kind = serializers.CharField()
    mime = serializers.CharField(help_text="The document's media type.")
    created_at = serializers.DateTimeField(help_text="When the document was first uploaded.")
    collection = serializers.CharField(
        allow_null=True,
        help_text="The `collection` in the document's metadata if that is a string; else the "
        "first of `collections`.",
    )
    collections = serializers.ListField(
        child=serializers.CharField(),
        help_text="The collections of the document: names, or ids of those without a name.",
    )
    content = serializers.CharField()
    relevance = serializers.FloatField(
        allow_null=True,
        help_text="How likely the passage answers the question, 0…1, comparable between "
        "questions; null "
        "if unknown (with an embedding model other than the bundled one in mode `semantic`).",
    )
    scores = ScoresSerializer()
    ranks = RanksSerializer()
    highlights = SpanSerializer(
        many=True, help_text="Matched words, as spans of the document's text like `span`."
    )
    merged_chunk_ids = serializers.ListField(
        child=serializers.UUIDField(), help_text="Neighbouring chunks merged into this passage."
    )
    metadata = serializers.JSONField(
        help_text="The document's metadata. Each key can be used in `filters.metadata`."
    )
    chunk_metadata = serializers.JSONField(
        help_text="Attributes of the passage: its headings, its link, its position on the page."
    )
    tags = serializers.ListField(child=serializers.CharField())
    fact = FactNoteSerializer(allow_null=True, help_text=FACT)


class CitationSerializer(serializers.Serializer):
    id = serializers.IntegerField(help_text="The passage's number in the context: [1], [2], …")
    chunk_id = serializers.UUIDField(allow_null=True, help_text=OF_PASSAGES)
    document_id = serializers.UUIDField(allow_null=True, help_text=OF_PASSAGES)
    document_version = serializers.IntegerField(allow_null=True, help_text=OF_PASSAGES)
    source_uri = serializers.CharField()
    section = serializers.CharField()
    page = serializers.IntegerField(allow_null=True)
    span = SpanSerializer()
    checksum = serializers.CharField(help_text="SHA-256 of the cited text.")
    fact = FactNoteSerializer(allow_null=True, help_text=FACT)


def ids_of(hit: Hit) -> dict[str, Any]:
    """Return the ids of a passage; a fact has its own id."""
    is_passage = hit.fact is None
    return {
        "chunk_id": hit.candidate.chunk_id if is_passage else None,
        "document_id": hit.candidate.document_id if is_passage else None,
        "document_version": hit.document_version if is_passage else None,
    }
