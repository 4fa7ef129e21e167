"""The JSON form of a hit and its citation."""

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


class CitationSerializer(serializers.Serializer):
    id = serializers.IntegerField(help_text="The passage's number in the context: [1], [2], …")
    chunk_id = serializers.UUIDField()
    document_id = serializers.UUIDField()
    source_uri = serializers.CharField()
    section = serializers.CharField()
    page = serializers.IntegerField(allow_null=True)
    span = SpanSerializer()
    checksum = serializers.CharField(help_text="SHA-256 of the cited text.")
