"""Strict JSON types, as in the schema: "5" is not a number, and 5 is not a string."""

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers

_TEXT = "Must be a string."
_KINDS: tuple[tuple[type[serializers.Field], tuple[type, ...], str], ...] = (
    (serializers.BooleanField, (bool,), "Must be true or false."),
    (serializers.IntegerField, (int,), "Must be a whole number."),
    (serializers.FloatField, (int, float), "Must be a number."),
    (serializers.UUIDField, (str,), _TEXT),
    (serializers.CharField, (str,), _TEXT),
    (serializers.ChoiceField, (str,), _TEXT),
)


def type_errors(fields: Mapping[str, serializers.Field], data: Mapping[Any, Any]) -> dict[str, Any]:
    """Return the errors by field for values of the wrong JSON type, which DRF would silently
    convert."""
    found = {name: _error(fields[name], data[name]) for name in fields if name in data}
    return {name: error for name, error in found.items() if error}


def _error(field: serializers.Field, value: Any) -> Any:
    if value is None:
        return None  # the field decides whether null is allowed
    if isinstance(field, serializers.ListField) and isinstance(value, list):
        return _errors_of_items(field.child, enumerate(value))
    if isinstance(field, serializers.DictField) and isinstance(value, dict):
        return _errors_of_items(field.child, value.items())
    for kind, accepted, message in _KINDS:
        if isinstance(field, kind):
            return None if _is_one(value, accepted) else message
    return None


def _errors_of_items(child: serializers.Field, items: Any) -> dict[str, Any]:
    found = {str(key): _error(child, value) for key, value in items}
    return {key: error for key, error in found.items() if error}


def _is_one(value: Any, accepted: tuple[type, ...]) -> bool:
    if isinstance(value, bool):
        return bool in accepted
    if isinstance(value, float) and int in accepted:  # 2.0 is a whole number in JSON
        return float in accepted or value.is_integer()
    return isinstance(value, accepted)
