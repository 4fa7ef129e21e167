"""The factors of a fact's score."""

from rest_framework import serializers


class FactScoreSerializer(serializers.Serializer):
    fact_id = serializers.UUIDField()
    score = serializers.FloatField(help_text="relevance × certainty × decay")
    relevance = serializers.FloatField()
    certainty = serializers.FloatField()
    decay = serializers.FloatField()
    age_days = serializers.FloatField(help_text="Since it was last verified.")
    half_life_days = serializers.FloatField(allow_null=True, help_text="null: it never ages.")
    vector = serializers.FloatField(allow_null=True, help_text="Cosine similarity.")
    lexical = serializers.FloatField(
        allow_null=True, help_text="Weight of the question's words that it contains."
    )
