"""Facts as text: the sentence that is shown and cited, and the words that are searched."""

import json
import re
from datetime import datetime
from typing import Any

_CAMEL_WORD = re.compile(r"(?<=[a-z0-9])[A-Z](?=[a-z])")  # "livesIn", but not "hasURL"
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def sentence(
    subject: str,
    predicate: str,
    value: Any,
    *,
    valid_from: datetime | None,
    valid_to: datetime | None,
) -> str:
    """Return the fact as one sentence: "Ann lives in Oslo (since 2024-05-01)."."""
    return f"{plain(subject, predicate, value)}{_validity(valid_from, valid_to)}."


def plain(subject: str, predicate: str, value: Any) -> str:
    """Return subject, predicate and object in words; this is embedded and searched."""
    lowered = _CAMEL_WORD.sub(lambda initial: f" {initial[0].lower()}", predicate)
    words = _CAMEL.sub(" ", lowered).replace("_", " ").strip()
    return " ".join(f"{subject} {words} {object_text(value)}".rstrip(".").split())


def object_text(value: Any) -> str:
    match value:
        case str():
            return value
        case bool():
            return "yes" if value else "no"
        case None:
            return "nothing"
        case int() | float():
            return str(value)
        case list() if all(not isinstance(item, list | dict) for item in value):
            return ", ".join(object_text(item) for item in value)
        case _:
            return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _validity(valid_from: datetime | None, valid_to: datetime | None) -> str:
    if valid_from is not None and valid_to is not None:
        return f" (from {valid_from:%Y-%m-%d} to {valid_to:%Y-%m-%d})"
    if valid_from is not None:
        return f" (since {valid_from:%Y-%m-%d})"
    return f" (until {valid_to:%Y-%m-%d})" if valid_to is not None else ""
