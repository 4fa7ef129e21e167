"""What PostgreSQL can keep of the values people put into metadata."""

import math
from datetime import UTC, datetime
from typing import Any

from django.utils.dateparse import parse_date, parse_datetime

DEEPEST = 20
LONGEST = 64 * 1024  # characters of JSON


def storable(value: Any, depth: int = 0) -> Any:
    """The value with what jsonb cannot hold taken out: NULs, lone surrogates, NaN, bottomless
    nesting, keys that are no strings."""
    if isinstance(value, str):
        return text(value)
    if isinstance(value, bool | int | None):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if depth >= DEEPEST:
        return "…"
    if isinstance(value, dict):
        return {text(str(key)): storable(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [storable(item, depth + 1) for item in value]
    return text(str(value))


def date_in(metadata: dict[str, Any]) -> datetime | None:
    """The date a document gives itself, e.g. in its front matter."""
    text = str(metadata.get("date", ""))
    try:
        moment = parse_datetime(text)
        if moment is None and (day := parse_date(text)):
            moment = datetime(day.year, day.month, day.day)
        if moment is None:
            return None
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None  # well formed, but no such day


def text(value: str) -> str:
    """Without NULs, surrogate pairs joined and lone surrogates replaced by U+FFFD."""
    if value.isascii():
        return value.replace("\x00", "")
    joined = value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return joined.replace("\x00", "")
