"""Cache keys: the same short text for equal values, in every process."""

import hashlib
import json
import uuid
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import date, datetime
from enum import Enum
from typing import Any


def fingerprint(*values: Any) -> str:
    canonical = json.dumps([_plain(value) for value in values], separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def _plain(value: Any) -> Any:
    """Convert to JSON that distinguishes what Python does; an unknown type is an error."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, Enum):
        return ["enum", type(value).__name__, value.name]
    if isinstance(value, str):
        return str(value)
    if is_dataclass(value) and not isinstance(value, type):
        named = [[field.name, _plain(getattr(value, field.name))] for field in fields(value)]
        return ["dataclass", type(value).__name__, named]
    if isinstance(value, Mapping):
        pairs = [[_plain(key), _plain(item)] for key, item in value.items()]
        return ["mapping", sorted(pairs, key=json.dumps)]
    if isinstance(value, list | tuple):
        return ["sequence", [_plain(item) for item in value]]
    if isinstance(value, set | frozenset):
        return ["set", sorted((_plain(item) for item in value), key=json.dumps)]
    if isinstance(value, uuid.UUID | date | datetime):
        return [type(value).__name__, str(value)]
    raise TypeError(f"A {type(value).__name__} cannot be part of a cache key.")
