"""Make submitted metadata storable in PostgreSQL."""

import math
from typing import Any

MAX_METADATA_DEPTH = 20
MAX_METADATA_CHARACTERS = 64 * 1024  # of JSON


def storable(value: Any, depth: int = 0) -> Any:
    """Return the value without anything that jsonb cannot store: NULs, lone surrogates, NaN,
    nesting deeper than MAX_METADATA_DEPTH, keys that are not strings."""
    if isinstance(value, str):
        return text(value)
    if isinstance(value, bool | int | None):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if depth >= MAX_METADATA_DEPTH:
        return "…"
    if isinstance(value, dict):
        return {text(str(key)): storable(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [storable(item, depth + 1) for item in value]
    return text(str(value))


def text(value: str) -> str:
    """Return the text without NULs, with surrogate pairs joined and lone ones replaced by
    U+FFFD."""
    if value.isascii():
        return value.replace("\x00", "")
    joined = value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return joined.replace("\x00", "")
