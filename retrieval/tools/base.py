"""The definition of a tool, and the context of a call."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from uuid import UUID

from ragsite.access.auth import Caller
from ragsite.platform.errors import ApiError

Schema = Mapping[str, Any]
Arguments = Mapping[str, Any]
Result = dict[str, Any]
ToolScope = Literal["read", "write"]
# What invalidates a cached result: a change of the searchable content, a change of any document's
# status too, or anything, because it is never cached.
Freshness = Literal["content", "documents", "never"]

DIALECT = "https://json-schema.org/draft/2020-12/schema"


@dataclass(frozen=True, slots=True)
class ToolContext:
    """On whose behalf a tool runs."""

    namespace_id: UUID
    key_id: UUID
    scopes: frozenset[str]
    request_id: str = ""
    base_url: str = ""  # where links to passages lead, unless PUBLIC_URL is set

    def may(self, scope: ToolScope) -> bool:
        return Caller(self.key_id, self.namespace_id, self.scopes).may(scope)


RunTool = Callable[[ToolContext, Arguments], Result]


@dataclass(frozen=True, slots=True)
class Tool:
    """Its texts are written for a language model: what it does, when to use it, what it returns."""

    name: str
    title: str
    description: str
    input_schema: Schema
    run: RunTool
    scope: ToolScope = "read"
    is_destructive: bool = False
    freshness: Freshness = "content"
    free_text: frozenset[str] = frozenset()  # arguments whose odd characters are cleaned on intake
    output_schema: Schema | None = None  # schema of the result, if a protocol requires one

    @property
    def is_read_only(self) -> bool:
        return self.scope == "read"


class InvalidArguments(ApiError):
    """`errors` are pairs of a path ("filters.tags.0") and a message."""

    def __init__(self, errors: Sequence[tuple[str, str]]) -> None:
        path, message = errors[0]
        super().__init__(
            "invalid_arguments",
            f"{path}: {message}" if path else message,
            http_status=422,
            details={"errors": [{"path": path, "message": message} for path, message in errors]},
        )


def not_found(what: str) -> ApiError:
    """The error for an id of another namespace, and for an unknown one."""
    return ApiError("not_found", f"There is no such {what} in this namespace.", http_status=404)


# -- schemas -----------------------------------------------------------------------------


def object_schema(properties: Schema, *, required: Sequence[str] = ()) -> Schema:
    return {
        "$schema": DIALECT,
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }


def text(description: str, *, max_length: int, **more: Any) -> Schema:
    return {
        "type": "string",
        "description": description,
        "minLength": 1,
        "maxLength": max_length,
        **more,
    }


def whole_number(description: str, *, default: int, minimum: int = 1, maximum: int) -> Schema:
    limits = {"minimum": minimum, "maximum": maximum, "default": default}
    return {"type": "integer", "description": description, **limits}


def share(description: str, *, default: float) -> Schema:
    return {
        "type": "number",
        "description": description,
        "minimum": 0,
        "maximum": 1,
        "default": default,
    }


def texts(description: str, *, max_length: int, max_items: int) -> Schema:
    items = {"type": "string", "minLength": 1, "maxLength": max_length}
    return {"type": "array", "description": description, "items": items, "maxItems": max_items}


def identifier(description: str) -> Schema:
    return {"type": "string", "format": "uuid", "description": description}
