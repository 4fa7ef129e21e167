"""Filters on documents and chunks, parsed from JSON into frozen values.

docs/filters.md describes the language.
"""

import json
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

from documents.metadata import MAX_METADATA_CHARACTERS, MAX_METADATA_DEPTH, storable
from documents.passages import CONVERSATION

MAX_NESTING = 8
MAX_CONDITIONS = 100
MAX_VALUES = 1000  # per $in

Path: TypeAlias = tuple[str, ...]
# Values are JSON text: the Python values 1, 1.0 and True would be equal, also as cache keys.
Json: TypeAlias = str


@dataclass(frozen=True, slots=True)
class Exists:
    path: Path


@dataclass(frozen=True, slots=True)
class OneOf:
    """The value at the path, or an element of the list there, equals one of these scalars."""

    path: Path
    values: tuple[Json, ...]


@dataclass(frozen=True, slots=True)
class Contains:
    """The value at the path contains this list or object, as defined by jsonb's @>."""

    path: Path
    value: Json


@dataclass(frozen=True, slots=True)
class Compares:
    """The value at the path, or an element of the list there, is above or below the operand."""

    path: Path
    operator: str  # a key of COMPARISONS
    operand: Json


@dataclass(frozen=True, slots=True)
class Not:
    part: "Condition"


@dataclass(frozen=True, slots=True)
class All:
    parts: tuple["Condition", ...]


@dataclass(frozen=True, slots=True)
class Some:
    parts: tuple["Condition", ...]


Condition: TypeAlias = Exists | OneOf | Contains | Compares | Not | All | Some


CONVERSATION_KEYS = frozenset({"session", "user"})  # metadata of conversations


@dataclass(frozen=True, slots=True)
class Filters:
    """What to search. Empty means everything; all conditions must hold."""

    tags: tuple[str, ...] = ()  # any of them
    tags_all: tuple[str, ...] = ()
    tags_none: tuple[str, ...] = ()
    document_ids: tuple[uuid.UUID, ...] = ()
    source_types: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    date_from: datetime | None = None
    date_to: datetime | None = None
    metadata: Condition | None = None
    collections: tuple[str, ...] = ()  # names or ids; any of them
    attributes: Condition | None = None  # on the membership in one of the collections
    # Conversations belong to their users: they are searched only on request.
    include_conversations: bool = False
    source_types_none: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()  # of the chunk, not of its document: not part of compile_filters
    matches_nothing: bool = False  # a list is empty, and one of its values would have to match

    @property
    def is_empty(self) -> bool:
        return self == NO_FILTERS

    @property
    def asks_for_conversations(self) -> bool:
        """Whether conversations are requested: by kind, by document, by collection, by session or
        user in the metadata, or explicitly."""
        return bool(
            self.include_conversations
            or CONVERSATION in self.source_types
            or self.document_ids
            or self.collections
            or _names(self.metadata, CONVERSATION_KEYS)
        )

    @property
    def only_conversations(self) -> bool:
        return self.source_types == (CONVERSATION,)


NO_FILTERS = Filters()


def _names(condition: Condition | None, keys: frozenset[str]) -> bool:
    """Whether a required condition on documents is about one of these metadata keys."""
    match condition:
        case All(parts):
            return any(_names(part, keys) for part in parts)
        case Some(parts):
            return all(_names(part, keys) for part in parts)
        case Exists() | OneOf() | Contains() | Compares():
            return condition.path[0] in keys
    return False


class InvalidFilter(ValueError):
    """The message says what is wrong; `at` has the keys and list positions that lead to it."""

    def __init__(self, at: Path, message: str) -> None:
        super().__init__(message)
        self.at = at
        self.message = message


# The filter (?) checks a value or, if it is a list, its elements. The comparison alone would also
# descend into nested lists, unlike equality.
COMPARISONS = {
    "$gt": '$ ? (@.type() != "array" && @ > $operand)',
    "$gte": '$ ? (@.type() != "array" && @ >= $operand)',
    "$lt": '$ ? (@.type() != "array" && @ < $operand)',
    "$lte": '$ ? (@.type() != "array" && @ <= $operand)',
}
OPERATORS = ("$eq", "$ne", "$in", "$nin", *COMPARISONS, "$exists")
CONNECTIVES = ("$and", "$or", "$not")


def parse_metadata(data: Any) -> Condition | None:
    """Parse the condition on metadata; None if it is empty.

    Raises InvalidFilter.
    """
    if data == {}:
        return None
    try:
        length = len(json.dumps(data))
    except (ValueError, RecursionError):
        raise InvalidFilter((), "A number is too long, or it is nested too deeply.") from None
    if length > MAX_METADATA_CHARACTERS:
        raise InvalidFilter((), f"At most {MAX_METADATA_CHARACTERS:,} characters of JSON.")
    return _FilterReader().object(data, (), (), 0)


class _FilterReader:
    """Walks the JSON. `path` leads into the metadata, `at` into the filter, for errors."""

    def __init__(self) -> None:
        self.conditions = 0

    def object(self, data: Any, path: Path, at: Path, depth: int) -> Condition:
        if not isinstance(data, dict):
            raise InvalidFilter(at, "Must be a JSON object.")
        if not data:
            raise InvalidFilter(at, "Must hold at least one condition.")
        if depth > MAX_NESTING:
            raise InvalidFilter(at, f"Nested more than {MAX_NESTING} levels deep.")
        return _joined(
            All, [self.entry(key, value, path, (*at, key), depth) for key, value in data.items()]
        )

    def entry(self, key: str, value: Any, path: Path, at: Path, depth: int) -> Condition:
        _require_storable(key, at)
        if key == "$not":
            return Not(self.object(value, path, at, depth + 1))
        if key in CONNECTIVES:
            if not isinstance(value, list) or not value:
                raise InvalidFilter(at, "Must be a list with at least one object.")
            parts = [
                self.object(item, path, (*at, str(number)), depth + 1)
                for number, item in enumerate(value)
            ]
            return _joined(All if key == "$and" else Some, parts)
        if key.startswith("$"):
            return self.operator(key, value, path, at)
        return self.field(value, (*path, *_steps(key, at)), at, depth)

    def field(self, value: Any, path: Path, at: Path, depth: int) -> Condition:
        if len(path) > MAX_METADATA_DEPTH:
            raise InvalidFilter(at, f"Leads through more than {MAX_METADATA_DEPTH} keys.")
        if isinstance(value, dict) and value:
            return self.object(value, path, at, depth + 1)
        self.count(at)
        if value == []:
            return OneOf(path, ())  # an empty list matches nothing, as $in does
        if isinstance(value, dict | list):
            _refuse_operators(value, at)
            return Contains(path, _json(value, at))
        return OneOf(path, (_json(value, at),))

    def operator(self, name: str, operand: Any, path: Path, at: Path) -> Condition:
        if name not in OPERATORS:
            known = " ".join((*OPERATORS, *CONNECTIVES))
            raise InvalidFilter(
                at, f"Unknown operator. There are {known}; a key that begins so is written \\$…"
            )
        if not path:
            raise InvalidFilter(at, 'Belongs to a key, as in {"year": {"$gte": 2020}}.')
        self.count(at)
        if name == "$exists":
            if not isinstance(operand, bool):
                raise InvalidFilter(at, "Must be true or false.")
            return Exists(path) if operand else Not(Exists(path))
        if name in COMPARISONS:
            if isinstance(operand, bool) or not isinstance(operand, int | float | str):
                raise InvalidFilter(at, "Must be a number or a string.")
            return Compares(path, name, _json(operand, at))
        equal = OneOf(path, _scalars(operand, at, many=name in ("$in", "$nin")))
        return Not(equal) if name in ("$ne", "$nin") else equal

    def count(self, at: Path) -> None:
        self.conditions += 1
        if self.conditions > MAX_CONDITIONS:
            raise InvalidFilter(at, f"More than {MAX_CONDITIONS} conditions.")


def _joined(kind: type[All] | type[Some], parts: list[Condition]) -> Condition:
    return parts[0] if len(parts) == 1 else kind(tuple(parts))


def _steps(key: str, at: Path) -> Path:
    """Split a dotted path into keys; a backslash makes a dot, dollar or backslash literal."""
    steps: list[list[str]] = [[]]
    characters = iter(key)
    for character in characters:
        if character == ".":
            steps.append([])
            continue
        if character == "\\" and (character := next(characters, "")) not in (".", "$", "\\"):
            raise InvalidFilter(at, "A backslash stands before a dot, a dollar or a backslash.")
        steps[-1].append(character)
    return tuple(map("".join, steps))


def _scalars(operand: Any, at: Path, *, many: bool) -> tuple[Json, ...]:
    if not many:
        return (_scalar(operand, at),)
    if not isinstance(operand, list):
        raise InvalidFilter(at, "Must be a list.")
    if len(operand) > MAX_VALUES:
        raise InvalidFilter(at, f"More than {MAX_VALUES} values.")
    return tuple(_scalar(value, (*at, str(number))) for number, value in enumerate(operand))


def _scalar(value: Any, at: Path) -> Json:
    if isinstance(value, dict | list):
        raise InvalidFilter(
            at,
            "Must be a string, a number, a boolean or null; for lists and objects leave the "
            'operator out: {"authors": [{"name": "Ada"}]}.',
        )
    return _json(value, at)


def _json(value: Any, at: Path) -> Json:
    _require_storable(value, at)
    return json.dumps(value, sort_keys=True)


def _require_storable(value: Any, at: Path) -> None:
    if storable(value) != value:
        raise InvalidFilter(
            at, "NUL characters, lone surrogates, NaN and very deep nesting are never stored."
        )


def _refuse_operators(value: Any, at: Path) -> None:
    """Reject operators inside a list, where everything is data."""
    pending = [(value, at)]
    while pending:
        item, place = pending.pop()
        entries: Iterable[tuple[Any, Any]] = ()
        if isinstance(item, dict):
            entries = item.items()
        elif isinstance(item, list):
            entries = enumerate(item)
        for key, inner in entries:
            if str(key).startswith("$"):
                raise InvalidFilter((*place, key), "Operators do not work inside a list.")
            pending.append((inner, (*place, str(key))))
