"""The language of metadata filters as JSON Schema; docs/filters.md explains it."""

from typing import Any

from ragsite.web.openapi import NO_NUL
from retrieval.filters import COMPARISONS, MAX_VALUES

Schema = dict[str, Any]

# A key or a dotted path. A backslash escapes a dot, a dollar or a backslash; operators begin with a
# dollar.
_PATH = r"^(([^$\\\u0000]|\\[.$\\])([^\\\u0000]|\\[.$\\])*)?$"
_DATA_KEY = r"^([^$\u0000][^\u0000]*)?$"


def _ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _group(condition: str) -> Schema:
    """The operands of $and, $or and $not."""
    several = {"type": "array", "minItems": 1, "items": _ref(condition)}
    return {"$and": several, "$or": several, "$not": _ref(condition)}


_SCALAR = {
    "anyOf": [
        {"type": ["null", "boolean", "number"]},
        {"type": "string", "pattern": NO_NUL},
    ]
}
_NUMBER_OR_TEXT = {"anyOf": [{"type": "number"}, {"type": "string", "pattern": NO_NUL}]}
_SCALARS = {"type": "array", "maxItems": MAX_VALUES, "items": _SCALAR}
_OPERATORS = {
    "$eq": _SCALAR,
    "$ne": _SCALAR,
    "$in": _SCALARS,
    "$nin": _SCALARS,
    **dict.fromkeys(COMPARISONS, _NUMBER_OR_TEXT),
    "$exists": {"type": "boolean"},
}
_PATHS = {"patternProperties": {_PATH: _ref("MetadataOperand")}, "additionalProperties": False}

# The service accepts eight levels of nested groups. The schema describes one, because some tools do
# not terminate on a schema that refers to itself in several places.
SCHEMAS: dict[str, Schema] = {
    "MetadataFilter": {
        "type": "object",
        "description": "Keys with values or operators. `$and`, `$or` and `$not` may be nested "
        "in each other and under a key, up to 8 levels deep; 100 conditions at most.",
        "properties": _group("MetadataCondition"),
        **_PATHS,
    },
    "MetadataCondition": {"type": "object", "minProperties": 1, **_PATHS},
    "MetadataOperand": {
        "anyOf": [
            _SCALAR,
            {"type": "array", "items": _ref("MetadataData")},
            {"type": "object", "maxProperties": 0},
            _ref("MetadataOperators"),
        ]
    },
    "MetadataOperators": {
        "type": "object",
        "minProperties": 1,
        "properties": _OPERATORS,
        **_PATHS,
    },
    # Inside a list, everything is data.
    "MetadataData": {
        "anyOf": [
            _SCALAR,
            {"type": "array", "items": _ref("MetadataData")},
            {
                "type": "object",
                "propertyNames": {"pattern": _DATA_KEY},
                "additionalProperties": _ref("MetadataData"),
            },
        ]
    },
}


def declare_filters(result: Schema, **kwargs: Any) -> Schema:
    result["components"]["schemas"].update(SCHEMAS)
    return result
