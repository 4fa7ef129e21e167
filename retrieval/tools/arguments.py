"""Check a tool's arguments against its schema, with errors that a model can act on."""

from collections.abc import Callable
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import ValidationError

from documents.metadata import storable
from documents.metadata import text as clean

from .base import InvalidArguments, Tool

MAX_ERRORS = 10
MAX_SHOWN = 100  # characters of a name in an error
ODD_CHARACTERS = "NUL characters, lone surrogates, NaN and very deep nesting are not allowed."

BLANK = "must not be blank"

# jsonschema's own messages repeat the value, which may be very long.
_MESSAGES: dict[str, Callable[[Any], str]] = {
    "type": lambda kind: f"must be of type {kind if isinstance(kind, str) else ' or '.join(kind)}",
    "enum": lambda values: f"must be one of {', '.join(map(str, values))}",
    "minLength": lambda n: BLANK if n == 1 else f"must have at least {n} characters",
    "maxLength": lambda n: f"must have at most {n:,} characters",
    "minItems": lambda n: "must not be empty" if n == 1 else f"must have at least {n} items",
    "maxItems": lambda n: f"must have at most {n} items",
    "minimum": lambda n: f"must be at least {n}",
    "maximum": lambda n: f"must be at most {n}",
    "pattern": lambda _: BLANK,  # the only one there is
    "format": lambda name: f"must be a {name}",
}


def checked(tool: Tool, arguments: Any) -> dict[str, Any]:
    """The arguments with the schema's defaults filled in. Raises InvalidArguments."""
    validator = Draft202012Validator(tool.input_schema, format_checker=FormatChecker(["uuid"]))
    errors = sorted(validator.iter_errors(arguments), key=_place)
    if errors:
        # The validator reports each missing name by itself, and does not say which one it is.
        described = dict.fromkeys(line for error in errors for line in _described(error))
        raise InvalidArguments(list(described)[:MAX_ERRORS])
    for name, value in arguments.items():
        if name not in tool.free_text and storable(value) != value:
            raise InvalidArguments([(name, ODD_CHARACTERS)])
    properties = tool.input_schema["properties"]
    filled = {name: p["default"] for name, p in properties.items() if "default" in p} | arguments
    return {name: _whole(properties[name], value) for name, value in filled.items()}


def _whole(schema: Any, value: Any) -> Any:
    """JSON Schema treats 5.0 as an integer, Python does not."""
    return int(value) if schema.get("type") == "integer" else value


def _place(error: ValidationError) -> str:
    return ".".join(map(str, error.absolute_path))


def _described(error: ValidationError) -> list[tuple[str, str]]:
    path = clean(_place(error))[:MAX_SHOWN]
    if error.validator == "required":
        missing = [name for name in error.validator_value if name not in error.instance]
        return [(_inside(path, name), "is required") for name in missing]
    if error.validator == "additionalProperties":
        known = error.schema.get("properties", {})
        unknown = [name for name in error.instance if name not in known]
        message = f"is not an argument; there are {', '.join(known)}"
        return [(_inside(path, clean(name)[:MAX_SHOWN]), message) for name in unknown]
    say = _MESSAGES.get(str(error.validator))
    return [(path, say(error.validator_value) if say else f"fails {error.validator!r}")]


def _inside(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
