"""Statements as accepted by the API."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from documents.api.fields import MOMENT
from documents.api.serializers import StrictSerializer
from documents.memory.rules.moments import moment_in, moment_or_now
from documents.memory.statements import MAX_OBJECT, UNSET, StatedFact
from documents.metadata import storable
from documents.passages import MAX_FACT_NAME
from ragsite.web.openapi import JSON_VALUE

MAX_STATEMENTS = 500  # maximum number in one request
TAG, TAGS = 200, 100


@extend_schema_field({"$ref": JSON_VALUE})
class ObjectField(serializers.Field):
    """Any JSON value that the database can store."""

    def to_internal_value(self, data: Any) -> Any:
        if storable(data) != data:
            raise serializers.ValidationError(
                "NUL characters, lone surrogates, NaN and very deep nesting cannot be stored."
            )
        if data == "" or (isinstance(data, str) and not data.strip()):
            raise serializers.ValidationError("May not be blank.")
        if len(json.dumps(data, ensure_ascii=False)) > MAX_OBJECT:
            raise serializers.ValidationError(f"At most {MAX_OBJECT:,} characters of JSON.")
        return data

    def to_representation(self, value: Any) -> Any:
        return value


NO_MOMENT = "Must be a date or a time in ISO 8601."


@extend_schema_field(MOMENT)
class IsoMomentField(serializers.Field):
    """A date or a time in ISO 8601. A date alone is its beginning; without a zone it is UTC."""

    read = staticmethod(moment_in)

    def to_internal_value(self, data: Any) -> datetime:
        if not isinstance(data, str):
            raise serializers.ValidationError("Must be a string.")
        try:
            return self.read(data)
        except (ValueError, OverflowError):
            raise serializers.ValidationError(NO_MOMENT) from None

    def to_representation(self, value: Any) -> Any:
        return value


class IsoMomentOrNowField(IsoMomentField):
    """A point in time: as above, or `now`."""

    read = staticmethod(moment_or_now)


class TagListField(serializers.ListField):
    child = serializers.CharField(max_length=TAG)


class StatementSerializer(StrictSerializer):
    subject = serializers.CharField(max_length=MAX_FACT_NAME)
    predicate = serializers.CharField(
        max_length=MAX_FACT_NAME, help_text="Such as `works at` or `works_at`."
    )
    object = ObjectField(help_text="Any JSON value.")
    certainty = serializers.FloatField(default=1.0, min_value=0, max_value=1)
    user = serializers.CharField(
        default="",
        allow_blank=True,
        max_length=200,
        help_text="The user whose memory it belongs to.",
    )
    tags = TagListField(required=False, max_length=TAGS)
    source_uri = serializers.CharField(
        default="", allow_blank=True, max_length=2048, help_text="Source of the statement."
    )
    valid_from = IsoMomentField(
        required=False,
        allow_null=True,
        help_text="Start of its validity. Default: now; null: it was always true.",
    )
    valid_to = IsoMomentField(
        required=False, allow_null=True, help_text="End of its validity; null: open."
    )
    turn_id = serializers.UUIDField(
        required=False,
        allow_null=True,
        help_text="The turn of a conversation (`/memories`) that says it. `user` and `valid_from`, "
        "where they are left out, are the turn's.",
    )
    statement_id = serializers.CharField(
        default="",
        allow_blank=True,
        max_length=200,
        help_text="Your own id of this statement: sent again, it changes nothing.",
    )


def statement_of(fields: Mapping[str, Any], **more: Any) -> StatedFact:
    """Build a statement from validated fields."""
    given = {**fields, "tags": tuple(dict.fromkeys(fields.get("tags", ())))}
    return StatedFact(**{"valid_from": UNSET, **given, **more})
