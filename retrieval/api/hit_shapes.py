"""The shapes of a passage found and of its citation on the wire."""

from rest_framework import serializers

from documents.api.serializers import SpanSerializer


class ScoresSerializer(serializers.Serializer):
    vector = serializers.FloatField(allow_null=True, help_text="Cosine similarity.")
    lexical = serializers.FloatField(allow_null=True, help_text="BM25.")
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
    page_end = serializers.IntegerField(
        allow_null=True, help_text="The last page it stands on; that of `page` for most."
    )
    ordinal = serializers.IntegerField(help_text="Of the chunk in its document, from 0.")
    span = SpanSerializer()
    kind = serializers.CharField()
    mime = serializers.CharField(help_text="The document's media type.")
    created_at = serializers.DateTimeField(help_text="When the document first came in.")
    collection = serializers.CharField(
        allow_null=True,
        help_text="The `collection` of the document's metadata, where that is a string; else the "
        "first of `collections`.",
    )
    collections = serializers.ListField(
        child=serializers.CharField(),
        help_text="The collections that the document is in: names, or ids of those without one.",
    )
    content = serializers.CharField()
    relevance = serializers.FloatField(
        allow_null=True,
        help_text="How likely it answers the question, 0…1, comparable between questions; null "
        "where there is nothing to judge by (another embedding model in mode `semantic`).",
    )
    scores = ScoresSerializer()
    ranks = RanksSerializer()
    highlights = SpanSerializer(
        many=True, help_text="Words that matched, as spans of the document's text like `span`."
    )
    merged_chunk_ids = serializers.ListField(
        child=serializers.UUIDField(), help_text="Neighbours that became one passage with it."
    )
    metadata = serializers.JSONField(
        help_text="The document's. Each of its keys can be used in `filters.metadata`."
    )
    chunk_metadata = serializers.JSONField(
        help_text="The passage's own: its headings, its link, where its words lie on the page."
    )
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
