"""The bodies of a search over facts, and of an erasure."""

from collections.abc import Mapping
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from documents.api.facts.requests import TAG, TAGS, IsoMomentOrNowField
from documents.api.fields import NamedChoiceField
from documents.api.serializers import StrictSerializer
from documents.memory.erasing import ErasureSelection
from documents.memory.rules.scope import FactScope
from documents.passages import MAX_FACT_NAME
from retrieval.memory.finding import RecallRequest

MAX_QUERY_LENGTH = 4000
MAX_NAMES = 100
MAX_IDS = 1000


def _names(help_text: str) -> serializers.ListField:
    child = serializers.CharField(max_length=MAX_FACT_NAME)
    return serializers.ListField(
        child=child, max_length=MAX_NAMES, required=False, help_text=help_text
    )


class FactScopeSerializer(StrictSerializer):
    """The facts to consider."""

    subjects = _names("Facts about any of these subjects, in any form of the name.")
    predicates = _names("Facts with any of these predicates, in any form of the name.")
    tags = serializers.ListField(
        child=serializers.CharField(max_length=TAG),
        max_length=TAGS,
        required=False,
        help_text="Facts with all of these tags.",
    )
    user = serializers.CharField(
        required=False,
        allow_null=True,
        allow_blank=True,
        max_length=200,
        help_text="Facts of this user and those of no particular user. Default: of all users.",
    )
    as_of = IsoMomentOrNowField(
        required=False,
        allow_null=True,
        help_text="Facts that were true at this moment; ISO 8601, or `now`. Default: now.",
    )
    known_at = IsoMomentOrNowField(
        required=False,
        allow_null=True,
        help_text="Facts as known at this moment; without `as_of`, those that were also true then.",
    )


def scope_of(fields: Mapping[str, Any]) -> FactScope:
    return FactScope(
        subjects=tuple(fields.get("subjects", ())),
        predicates=tuple(fields.get("predicates", ())),
        tags=tuple(fields.get("tags", ())),
        user=fields.get("user"),
        as_of=fields.get("as_of"),
        known_at=fields.get("known_at"),
    )


_SCOPE = FactScopeSerializer()


@extend_schema_field(
    {
        "oneOf": [
            {"type": "boolean"},
            {
                "type": "object",
                "properties": {
                    "subjects": {"type": "array", "items": {"type": "string"}},
                    "predicates": {"type": "array", "items": {"type": "string"}},
                    "tags": {"type": "array", "items": {"type": "string"}},
                    "user": {"type": "string", "nullable": True},
                    "as_of": {"type": "string", "nullable": True},
                    "known_at": {"type": "string", "nullable": True},
                },
                "additionalProperties": False,
            },
        ]
    }
)
class IncludeFactsField(serializers.Field):
    """true for all facts, or an object that restricts them."""

    def to_internal_value(self, data: Any) -> FactScope | None:
        if isinstance(data, bool):
            return FactScope() if data else None
        if not isinstance(data, dict):
            raise serializers.ValidationError("Must be true, false or an object.")
        return scope_of(_SCOPE.run_validation(data))

    def to_representation(self, value: Any) -> Any:
        return value


class FactSearchSerializer(FactScopeSerializer):
    query = serializers.CharField(
        max_length=MAX_QUERY_LENGTH,
        required=False,
        help_text="Default: everything in the scope, the most certain first.",
    )
    k = serializers.IntegerField(default=10, min_value=1, max_value=100)
    mode = NamedChoiceField(choices=["hybrid", "semantic", "lexical"], default="hybrid")
    min_relevance = serializers.FloatField(
        required=False,
        min_value=0,
        max_value=1,
        help_text="Default: unrelated facts are left out; 0: they are included.",
    )
    explain = serializers.BooleanField(default=False, help_text="Return the factors of each score.")


def recall_request(fields: Mapping[str, Any]) -> RecallRequest:
    return RecallRequest(
        query=fields.get("query", ""),
        k=fields["k"],
        scope=scope_of(fields),
        mode=fields["mode"],
        min_relevance=fields.get("min_relevance"),
    )


class ErasureSerializer(StrictSerializer):
    """Exactly one of these."""

    schema_rules = {
        "oneOf": [{"required": [name]} for name in ("ids", "subject", "user", "source_uri")]
    }

    ids = serializers.ListField(
        child=serializers.UUIDField(), min_length=1, max_length=MAX_IDS, required=False
    )
    subject = serializers.CharField(
        max_length=MAX_FACT_NAME,
        required=False,
        help_text="All facts about it, and all that have it as their object.",
    )
    user = serializers.CharField(
        max_length=200, required=False, help_text="All facts in this user's memory."
    )
    source_uri = serializers.CharField(max_length=2048, required=False)

    def validate(self, fields: dict[str, Any]) -> dict[str, Any]:
        if len(fields) != 1:
            raise serializers.ValidationError("Give exactly one of ids, subject, user, source_uri.")
        return fields


def selection_of(fields: Mapping[str, Any]) -> ErasureSelection:
    return ErasureSelection(**{**fields, "ids": tuple(fields.get("ids", ()))})
