"""The JSON form of a query's filters; docs/filters.md explains them."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from documents.api.fields import MomentField, NamedChoiceField, TextField
from documents.api.serializers import StrictSerializer
from documents.metadata import text
from retrieval.filters import Condition, Filters, InvalidFilter, parse_metadata

MAX_TAGS = 100
MAX_TAG_LENGTH = 200
MAX_COLLECTIONS = 100
MAX_COLLECTION_LENGTH = 256
MAX_STEP_LENGTH = 100  # characters of a path in an error message


@extend_schema_field(
    {
        "type": "array",
        "items": {
            "anyOf": [
                {"type": "null"},
                {"type": "string", "format": "date"},
                {"type": "string", "format": "date-time"},
            ]
        },
        "minItems": 2,
        "maxItems": 2,
    }
)
class DateRangeField(serializers.Field):
    """[from, to]; null leaves an end open."""

    def to_internal_value(self, data: Any) -> tuple[datetime | None, datetime | None]:
        if not isinstance(data, list) or len(data) != 2:
            raise serializers.ValidationError("Give two dates, [from, to]; null leaves one open.")
        start, end = data
        moments = (
            MomentField().run_validation(start) if start is not None else None,
            MomentField(end_of_day=True).run_validation(end) if end is not None else None,
        )
        if moments[0] and moments[1] and moments[0] > moments[1]:
            raise serializers.ValidationError("The range ends before it begins.")
        return moments

    def to_representation(self, value: Any) -> Any:
        return value


def _tags() -> serializers.ListField:
    child = TextField(max_length=MAX_TAG_LENGTH)
    return serializers.ListField(child=child, required=False, max_length=MAX_TAGS)


class TagConditionsSerializer(StrictSerializer):
    any = _tags()
    all = _tags()
    none = _tags()


_TAG_LIST = {
    "type": "array",
    "items": {"type": "string", "minLength": 1, "maxLength": MAX_TAG_LENGTH},
    "maxItems": MAX_TAGS,
}


@extend_schema_field(
    {
        "oneOf": [
            _TAG_LIST,
            {
                "type": "object",
                "properties": dict.fromkeys(("any", "all", "none"), _TAG_LIST),
                "additionalProperties": False,
            },
        ]
    }
)
class TagsFilterField(serializers.Field):
    """A list, meaning any of them, or {"any": […], "all": […], "none": […]}."""

    def to_internal_value(self, data: Any) -> dict[str, list[str]]:
        if isinstance(data, list):
            return {"any": _tags().run_validation(data)}
        if isinstance(data, dict):
            conditions: dict[str, list[str]] = TagConditionsSerializer().run_validation(data)
            return conditions
        raise serializers.ValidationError('Give a list, or {"any": […], "all": […], "none": […]}.')

    def to_representation(self, value: Any) -> Any:
        return value


_COLLECTION = {"type": "string", "minLength": 1, "maxLength": MAX_COLLECTION_LENGTH}


@extend_schema_field(
    {"oneOf": [_COLLECTION, {"type": "array", "items": _COLLECTION, "maxItems": MAX_COLLECTIONS}]}
)
class CollectionFilterField(serializers.Field):
    """One collection or a list, meaning any of them, each by name or id."""

    def to_internal_value(self, data: Any) -> list[str]:
        names = serializers.ListField(
            child=TextField(max_length=MAX_COLLECTION_LENGTH, trim_whitespace=False),
            max_length=MAX_COLLECTIONS,
        )
        named: list[str] = names.run_validation([data] if isinstance(data, str) else data)
        return named

    def to_representation(self, value: Any) -> Any:
        return value


@extend_schema_field({"$ref": "#/components/schemas/MetadataFilter"})
class MetadataFilterField(serializers.Field):
    """Keys with values or operators; an error message contains the path to the mistake."""

    def to_internal_value(self, data: Any) -> Condition | None:
        try:
            return parse_metadata(data)
        except InvalidFilter as error:
            # Escaped, because the key itself may contain invalid characters.
            place = ".".join(text(step)[:MAX_STEP_LENGTH] for step in error.at)
            raise serializers.ValidationError(
                {place: error.message} if place else error.message
            ) from None

    def to_representation(self, value: Any) -> Any:
        return value


class FiltersSerializer(StrictSerializer):
    tags = TagsFilterField(
        required=False,
        help_text="Documents with any of these tags; as an object: with any, all or none of them.",
    )
    document_ids = serializers.ListField(
        child=serializers.UUIDField(), required=False, max_length=1000
    )
    collection = CollectionFilterField(
        required=False, help_text="Documents in any of these collections, each by name or id."
    )
    source_types = serializers.ListField(
        child=serializers.CharField(max_length=20), required=False, max_length=20
    )
    date_range = DateRangeField(
        required=False, help_text="By the date in a document's metadata, else that of its upload."
    )
    language = serializers.ListField(
        child=serializers.RegexField(
            r"^[a-z]{2,3}(-[A-Za-z0-9]{2,4})?\Z",
            max_length=8,
            error_messages={"invalid": "Use ISO 639 codes: en, de, zh."},
        ),
        required=False,
        max_length=100,
        help_text="Documents in any of these languages.",
    )
    kind = serializers.ListField(
        child=NamedChoiceField(choices=["text", "code", "table", "image"]),
        required=False,
        max_length=4,
        help_text="Only passages of these kinds.",
    )
    include_conversations = serializers.BooleanField(
        default=False,
        help_text="Search conversations, too. Without it they are searched only if the filters "
        "name them: by source type, document, collection, session or user.",
    )
    metadata = MetadataFilterField(
        required=False,
        help_text="Keys and values the document must have, or operators: "
        '`{"year": {"$gte": 2020}, "author.name": {"$in": ["Ada"]}, "$not": {"draft": true}}`. '
        "There are `$eq $ne $in $nin $gt $gte $lt $lte $exists` and `$and $or $not`.",
    )


@extend_schema_field(FiltersSerializer)
class FiltersField(serializers.JSONField):
    """Filters that are validated, but stored as submitted."""

    def to_internal_value(self, data: Any) -> Any:
        FiltersSerializer().run_validation(data)
        return data


# For these fields an empty list matches nothing.
FIELDS_OF_VALUES = ("document_ids", "collection", "source_types", "language", "kind")


def filters_of(fields: Mapping[str, Any]) -> Filters:
    """Convert validated data of FiltersSerializer to the search's Filters."""
    tags = fields.get("tags", {})
    alternatives = (
        *(tags.get(name) for name in ("any", "all")),
        *(fields.get(name) for name in FIELDS_OF_VALUES),
    )
    date_from, date_to = fields.get("date_range", (None, None))
    return Filters(
        tags=tuple(tags.get("any", ())),
        tags_all=tuple(tags.get("all", ())),
        tags_none=tuple(tags.get("none", ())),
        document_ids=tuple(fields.get("document_ids", ())),
        collections=tuple(fields.get("collection", ())),
        source_types=tuple(fields.get("source_types", ())),
        languages=tuple(fields.get("language", ())),
        date_from=date_from,
        date_to=date_to,
        metadata=fields.get("metadata"),
        kinds=tuple(fields.get("kind", ())),
        matches_nothing=[] in alternatives,
        include_conversations=fields.get("include_conversations", False),
    )
