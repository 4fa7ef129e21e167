"""Filters as conditions on the fields that a search store has. Conditions that an engine cannot
check are left out, because its results are checked again in PostgreSQL."""

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from documents.collections.selecting import usable_collections
from documents.stores.base import DOCUMENT, AllOf, AnyOf, Between, NoneOf, StoreCondition
from documents.stores.facets import facet
from ragsite.database.tenancy import current_connection
from retrieval.filters import All, Condition, Filters, Not, OneOf, Some

from .scope import SearchScope

MAX_LISTED = 500  # maximum number of documents that are listed by id


def conditions_of(filters: Filters, scope: SearchScope) -> tuple[list[StoreCondition], bool]:
    """Return conditions that all chunks of the scope meet, and whether no other chunk does. Inside
    namespace()."""
    if filters.matches_nothing:
        return [AnyOf(DOCUMENT, ())], True
    kinds = [AnyOf("kind", filters.kinds)] if filters.kinds else []
    if scope.documents is not None:
        listed = tuple(scope.documents.strip("{}").split(",")) if scope.documents != "{}" else ()
        if len(listed) <= MAX_LISTED:
            return [AnyOf(DOCUMENT, listed), *kinds], True
    found: list[StoreCondition] = [*kinds, *_on_documents(filters)]
    if filters.collections:
        found.append(AnyOf("collections", _collection_ids(filters.collections)))
    metadata, is_whole = _on_metadata(filters.metadata)
    is_whole &= filters.attributes is None
    return [*found, *metadata], is_whole


def _on_documents(filters: Filters) -> Iterator[StoreCondition]:
    if filters.tags:
        yield AnyOf("tags", filters.tags)
    if filters.tags_all:
        yield AllOf("tags", filters.tags_all)
    if filters.tags_none:
        yield NoneOf("tags", filters.tags_none)
    if filters.document_ids:
        yield AnyOf(DOCUMENT, tuple(map(str, filters.document_ids)))
    if filters.source_types:
        yield AnyOf("source_type", filters.source_types)
    if filters.source_types_none:
        yield NoneOf("source_type", filters.source_types_none)
    if filters.languages:
        yield AnyOf("language", filters.languages)
    if filters.date_from or filters.date_to:
        yield Between(
            "dated_at",
            filters.date_from.timestamp() if filters.date_from else None,
            filters.date_to.timestamp() if filters.date_to else None,
        )


def _collection_ids(names: tuple[str, ...]) -> tuple[str, ...]:
    with current_connection().cursor() as cursor:
        cursor.execute(usable_collections("%(wanted)s"), {"wanted": list(names)})
        return tuple(str(row[0]) for row in cursor.fetchall())


def _on_metadata(condition: Condition | None) -> tuple[list[StoreCondition], bool]:
    """Return equality conditions as keywords; other conditions are left to PostgreSQL."""
    match condition:
        case None:
            return [], True
        case OneOf():
            return [AnyOf("facets", _facets(condition))], True
        case Not(OneOf() as excluded):
            return [NoneOf("facets", _facets(excluded))], True
        case Some(parts) if all(isinstance(part, OneOf) for part in parts):
            keywords = [k for part in parts if isinstance(part, OneOf) for k in _facets(part)]
            return [AnyOf("facets", tuple(keywords))], True
        case All(parts):
            each = [_on_metadata(part) for part in parts]
            return [c for found, _ in each for c in found], all(whole for _, whole in each)
    return [], False


def _facets(condition: OneOf) -> tuple[str, ...]:
    values: list[Any] = [json.loads(value, parse_float=Decimal) for value in condition.values]
    return tuple(facet(condition.path, value) for value in values)
