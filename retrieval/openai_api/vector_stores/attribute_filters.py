"""OpenAI's filters on attributes, translated to our metadata filters (retrieval/filters.py)."""

import re
from typing import Any

from ragsite.platform.errors import ApiError
from retrieval.filters import COMPARISONS, Condition, InvalidFilter, parse_metadata
from retrieval.openai_api.views import invalid_parameter

MAX_DEPTH = 8
_SPECIAL = re.compile(r"[\\.$]")
_GROUPS = ("and", "or")
_COMPARISONS = ("eq", "ne", "in", "nin", *(name.removeprefix("$") for name in COMPARISONS))


def read_filters(data: Any, at: str = "filters") -> Condition | None:
    """Raises invalid_parameter, which names the position of the mistake."""
    translated = _translated(data, at, 0)
    try:
        return parse_metadata(translated)
    except InvalidFilter as error:
        raise _invalid(at, error.message) from None


def _translated(data: Any, at: str, depth: int) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise _invalid(at, "A filter is an object with a type.")
    if depth > MAX_DEPTH:
        raise _invalid(at, f"Nested more than {MAX_DEPTH} levels deep.")
    kind = data.get("type")
    if kind in _GROUPS:
        _require_keys(data, {"type", "filters"}, at)
        parts = data["filters"]
        if not isinstance(parts, list) or not parts:
            raise _invalid(f"{at}.filters", "Must be a list with at least one filter.")
        inner = (_translated(p, f"{at}.filters.{n}", depth + 1) for n, p in enumerate(parts))
        return {f"${kind}": list(inner)}
    if kind not in _COMPARISONS:
        known = ", ".join((*_COMPARISONS, *_GROUPS))
        raise _invalid(f"{at}.type", f"Use one of: {known}.")
    _require_keys(data, {"type", "key", "value"}, at)
    if not isinstance(data["key"], str):
        raise _invalid(f"{at}.key", "Must be a string.")
    _check_value(kind, data["value"], f"{at}.value")
    key = _SPECIAL.sub(lambda found: "\\" + found[0], data["key"])
    return {key: {f"${kind}": data["value"]}}


def _require_keys(data: dict[str, Any], wanted: set[str], at: str) -> None:
    if missing := sorted(wanted - set(data)):
        raise _invalid(f"{at}.{missing[0]}", "This field is required.")
    if unknown := sorted(set(data) - wanted):
        raise _invalid(f"{at}.{unknown[0][:100]}", "Unknown field.")


def _check_value(kind: str, value: Any, at: str) -> None:
    if kind in ("in", "nin"):
        if not isinstance(value, list):
            raise _invalid(at, "Must be a list.")
        for number, one in enumerate(value):
            _check_value("eq", one, f"{at}.{number}")
    elif not isinstance(value, str | int | float):
        raise _invalid(at, "Must be a string, a number or a boolean.")
    elif isinstance(value, bool) and kind not in ("eq", "ne"):
        raise _invalid(at, "Must be a number or a string.")


def _invalid(at: str, message: str) -> ApiError:
    return invalid_parameter(at, f"{at}: {message}")
