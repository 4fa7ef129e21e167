"""Fields that several requests share."""

import base64
import json
from datetime import UTC, datetime, time
from typing import Any, NoReturn

from django.http import QueryDict
from django.utils.dateparse import parse_date, parse_datetime
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from documents.chunking.methods import SIZES, ChunkingOptions
from documents.metadata import MAX_METADATA_CHARACTERS, storable, text
from ragsite.web.openapi import ANY_TEXT, JSON_OBJECT

from .json_types import type_errors


class TextField(serializers.CharField):
    """Accepts only strings; for fields whose JSON type no serializer has checked."""

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        return str(super().to_internal_value(data))


MOMENT = {  # accepts a date without a time
    "anyOf": [{"type": "string", "format": "date"}, {"type": "string", "format": "date-time"}]
}


class CleanedTextField(serializers.CharField):
    """Text that is stored verbatim, except that characters that cannot be stored are removed."""

    def __init__(self, **options: Any) -> None:
        super().__init__(trim_whitespace=False, **options)

    def run_validation(self, data: Any = serializers.empty) -> Any:
        value = super().run_validation(text(data) if isinstance(data, str) else data)
        if isinstance(value, str) and not value.strip():
            self.fail("blank")
        return value


@extend_schema_field(MOMENT)
class MomentField(serializers.Field):
    """A date with or without a time. A bare date means its start or, as an upper bound, its end."""

    def __init__(self, *, end_of_day: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.end_of_day = end_of_day

    def to_internal_value(self, data: Any) -> datetime:
        try:
            moment = parse_datetime(str(data)) if len(str(data)) > 10 else None
            if moment is None and (day := parse_date(str(data))):
                moment = datetime.combine(day, time.max if self.end_of_day else time.min)
        except ValueError:
            moment = None
        if moment is None:
            raise serializers.ValidationError("Use a date (2026-01-31) or an ISO 8601 time.")
        try:
            return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
        except OverflowError:
            raise serializers.ValidationError("There is no such day.") from None

    def to_representation(self, value: datetime) -> str:
        return value.isoformat()


@extend_schema_field(
    {
        "anyOf": [
            {"type": "array", "items": {"type": "string", "maxLength": 200}, "maxItems": 100},
            {
                "type": "string",
                "pattern": r"^[^,\u0000]{0,200}(,[^,\u0000]{0,200}){0,99}$",
                "description": "Separated by commas.",
            },
        ]
    }
)
class TagsField(serializers.ListField):
    """A list, or the comma-separated strings that forms and curl send."""

    child = serializers.CharField(max_length=200)

    def get_value(self, dictionary: Any) -> Any:
        if isinstance(dictionary, QueryDict):
            values = dictionary.getlist(self.field_name or "")
            return [tag for value in values for tag in value.split(",")] or serializers.empty
        return super().get_value(dictionary)

    def to_internal_value(self, data: Any) -> list[str]:
        if isinstance(data, str):
            data = data.split(",")
        if isinstance(data, list):
            self.run_validators(data)  # blank and repeated tags count towards the limit
            data = [tag for tag in data if not isinstance(tag, str) or tag.strip()]
        return list(dict.fromkeys(super().to_internal_value(data)))


class NamedChoiceField(serializers.ChoiceField):
    """A choice whose error names the valid ones."""

    default_error_messages = {
        "invalid_choice": '"{input}" is not a valid choice. Use one of: {choices}.'
    }

    def fail(self, key: str, **kwargs: Any) -> NoReturn:
        super().fail(key, choices=", ".join(map(str, self.choices)), **kwargs)


class OptionalBooleanField(serializers.BooleanField):
    """A boolean that a form may leave out: DRF would read that as false."""

    default_empty_html = serializers.empty


def _read_json(data: Any) -> Any:
    """Parse the JSON in a form's field; values of a JSON body are already parsed."""
    if not isinstance(data, str):
        return data
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        raise serializers.ValidationError("This is not valid JSON.") from None


@extend_schema_field({"$ref": JSON_OBJECT})
class MetadataField(serializers.JSONField):
    """A JSON object that the database can store unchanged."""

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        data = _read_json(data)
        if not isinstance(data, dict):
            raise serializers.ValidationError("Must be a JSON object.")
        if storable(data) != data:
            raise serializers.ValidationError(
                "NUL characters, lone surrogates, NaN and very deep nesting cannot be stored."
            )
        if len(json.dumps(data)) > MAX_METADATA_CHARACTERS:
            raise serializers.ValidationError(
                f"At most {MAX_METADATA_CHARACTERS:,} characters of JSON."
            )
        return data


class ChunkingSerializer(serializers.Serializer):
    """Omitted options are those of the namespace's index profile."""

    method = NamedChoiceField(choices=list(SIZES), required=False)
    size = serializers.IntegerField(
        min_value=1,
        required=False,
        help_text="Size of a chunk in tokens of the embedding model, or in characters with the "
        "fixed method.",
    )
    overlap = serializers.IntegerField(
        min_value=0,
        required=False,
        help_text="How much of the previous chunk is repeated, in the same unit; less than half "
        "the size.",
    )


@extend_schema_field(ChunkingSerializer)
class ChunkingField(serializers.Field):
    """Chunking options of one document: an object, or its JSON in a form's field."""

    def to_internal_value(self, data: Any) -> ChunkingOptions:
        options = _read_json(data)
        if not isinstance(options, dict):
            raise serializers.ValidationError("Must be a JSON object.")
        form = ChunkingSerializer(data=options)
        if unknown := sorted(set(options) - set(form.fields)):
            raise serializers.ValidationError({text(unknown[0]): "Unknown field."})
        if wrong := type_errors(form.fields, options):
            raise serializers.ValidationError(wrong)
        form.is_valid(raise_exception=True)
        return ChunkingOptions(**form.validated_data)


@extend_schema_field({"type": "array", "items": {"type": "object"}})
class FilesField(serializers.JSONField):
    """A JSON list in a form's field; its items are checked for each file."""

    def to_internal_value(self, data: Any) -> list[Any]:
        data = _read_json(data)
        if not isinstance(data, list) or not all(isinstance(one, dict) for one in data):
            raise serializers.ValidationError("Must be a JSON list of objects, one for each file.")
        return data


@extend_schema_field({"type": "string", "format": "byte"})
class Base64Field(serializers.Field):
    """Bytes, as base64 in JSON."""

    def to_internal_value(self, data: Any) -> bytes:
        if not isinstance(data, str):
            raise serializers.ValidationError("Must be a string.")
        try:
            return base64.b64decode(data, validate=True)
        except ValueError:
            raise serializers.ValidationError("This is not base64.") from None

    def to_representation(self, value: bytes) -> str:
        return base64.b64encode(value).decode()


@extend_schema_field({"type": "string", "pattern": ANY_TEXT})
class ContentField(serializers.Field):
    """Any text. Characters that cannot be stored are removed, so that a stray NUL does no harm."""

    def to_internal_value(self, data: Any) -> bytes:
        if not isinstance(data, str):
            raise serializers.ValidationError("Must be a string.")
        return text(data).encode()

    def to_representation(self, value: bytes) -> str:
        return value.decode()
