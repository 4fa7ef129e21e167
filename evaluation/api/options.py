"""The JSON form of a run's options, also used by the commands."""

from typing import Any

from rest_framework import serializers

from documents.api.fields import NamedChoiceField
from documents.api.serializers import StrictSerializer
from evaluation.runs.options import RunOptions

DEFAULTS = RunOptions()


class OptionsSerializer(StrictSerializer):
    k = serializers.IntegerField(
        default=DEFAULTS.k,
        min_value=1,
        max_value=100,
        help_text="The number of results a client requests; latency and tokens are measured with "
        "it.",
    )
    depth = serializers.IntegerField(
        default=DEFAULTS.depth,
        min_value=1,
        max_value=1000,
        help_text="The depth to which the ranking is measured.",
    )
    mode = NamedChoiceField(choices=["hybrid", "semantic", "lexical"], default=DEFAULTS.mode)
    fusion = NamedChoiceField(choices=["weighted", "rrf"], default=DEFAULTS.fusion)
    semantic_weight = serializers.FloatField(
        default=DEFAULTS.semantic_weight,
        min_value=0,
        max_value=1,
        help_text="Weight of the vectors in fusion `weighted`; words have the rest.",
    )
    rrf_k = serializers.IntegerField(default=DEFAULTS.rrf_k, min_value=1, max_value=1000)
    rerank = NamedChoiceField(
        choices=["auto", "none", "cosine", "cross-encoder", "remote", "llm", "learned"],
        default=DEFAULTS.rerank,
    )
    max_per_document = serializers.IntegerField(
        default=DEFAULTS.max_per_document,
        allow_null=True,
        min_value=1,
        max_value=100,
        help_text="null: several documents are preferred, without a limit.",
    )
    token_budget = serializers.IntegerField(
        default=DEFAULTS.token_budget,
        allow_null=True,
        min_value=1,
        max_value=1_000_000,
        help_text="Token budget of the context for `answer@context`. null: the service's default.",
    )
    mmr_lambda = serializers.FloatField(default=DEFAULTS.mmr_lambda, min_value=0, max_value=1)

    def to_options(self) -> RunOptions:
        fields: dict[str, Any] = dict(self.validated_data)
        return RunOptions(**fields)
