"""Compile filters to SQL. All user input becomes parameters."""

import json
from collections.abc import Iterable
from typing import Any

from documents.collections.selecting import members_of, usable_collections

from .filters import (
    COMPARISONS,
    All,
    Compares,
    Condition,
    Contains,
    Exists,
    Filters,
    Json,
    Not,
    OneOf,
    Path,
    Some,
)


def compile_filters(filters: Filters, *, alias: str = "document") -> tuple[str, dict[str, Any]]:
    """Return a boolean expression over documents_document as `alias`, and its parameters, named
    f_….

    "" if there is no condition on documents. The expression is never NULL, so NOT is exact.
    """
    if not alias.isidentifier():
        raise ValueError(f"{alias!r} is no alias.")
    sql = _Sql(alias)
    conditions = [
        *sql.listed("tags && {}::text[]", filters.tags),
        *sql.listed("tags @> {}::text[]", filters.tags_all),
        *(f"NOT {c}" for c in sql.listed("tags && {}::text[]", filters.tags_none)),
        *sql.listed("id = ANY ({}::uuid[])", filters.document_ids),
        *sql.listed("source_type = ANY ({}::text[])", filters.source_types),
        *sql.listed("source_type <> ALL ({}::text[])", filters.source_types_none),
        *sql.listed("language = ANY ({}::text[])", filters.languages),
    ]
    if filters.date_from is not None:
        conditions.append(f"{alias}.dated_at >= {sql.parameter(filters.date_from)}")
    if filters.date_to is not None:
        conditions.append(f"{alias}.dated_at <= {sql.parameter(filters.date_to)}")
    if filters.metadata is not None:
        conditions.append(sql.condition(filters.metadata, f"{alias}.metadata"))
    if filters.collections or filters.attributes is not None:
        conditions.append(sql.member(filters))
    if filters.matches_nothing:
        conditions.append("false")
    return " AND ".join(conditions), sql.parameters


def indexed(filters: Filters) -> tuple[str, list[str]] | None:
    """Return an SQL function or subquery that finds documents that may pass by an index, and its
    argument. It checks one of the filter's conditions, never all of them."""
    if filters.collections:
        return f"({members_of('{0}')})", list(filters.collections)
    if filters.tags:
        return "ragsite.documents_tagged({}::text[])", list(filters.tags)
    if filters.tags_all:
        return "ragsite.documents_tagged_all({}::text[])", list(filters.tags_all)
    condition = filters.metadata
    for part in condition.parts if isinstance(condition, All) else (condition,):
        if isinstance(part, OneOf | Contains):
            return "ragsite.documents_holding({}::jsonb[])", _shapes(part)
    return None


class _Sql:
    """Collects parameters. All user input, including keys, goes through `parameter`."""

    def __init__(self, alias: str) -> None:
        self.alias = alias
        self.parameters: dict[str, Any] = {}

    def parameter(self, value: Any) -> str:
        name = f"f_{len(self.parameters)}"
        self.parameters[name] = value
        return f"%({name})s"

    def listed(self, template: str, values: tuple[Any, ...]) -> Iterable[str]:
        if values:
            yield f"({self.alias}.{template.format(self.parameter(list(values)))})"

    def member(self, filters: Filters) -> str:
        """With IS TRUE, because the planner would turn a plain IN into a join, and might then not
        use the vector index in order. This way members are read once and hashed."""
        conditions = []
        if filters.collections:
            wanted = usable_collections(self.parameter(list(filters.collections)))
            conditions.append(f"member.collection_id = ANY (ARRAY({wanted}))")
        if filters.attributes is not None:
            conditions.append(self.condition(filters.attributes, "member.attributes"))
        members = (
            "SELECT member.document_id FROM documents_collectiondocument member "  # noqa: S608
            f"WHERE {' AND '.join(conditions)}"
        )
        return f"(({self.alias}.id IN ({members})) IS TRUE)"

    def condition(self, condition: Condition, column: str) -> str:
        """Compile a condition. `column` is jsonb that contains an object."""
        match condition:
            case All(parts):
                return f"({' AND '.join(self.condition(part, column) for part in parts)})"
            case Some(parts):
                return f"({' OR '.join(self.condition(part, column) for part in parts)})"
            case Not(part):
                return f"(NOT {self.condition(part, column)})"
            case Exists(path):
                return f"({self.at(path, column)} IS NOT NULL)"
            case Contains() | OneOf():
                # @> rather than #>, because the index on metadata supports no other operator.
                return f"({column} @> ANY ({self.parameter(_shapes(condition))}::jsonb[]))"
            case Compares(path, operator, operand):
                found, search = self.at(path, column), COMPARISONS[operator]
                variables = self.parameter(_within(("operand",), operand))
                exists = f"jsonb_path_exists({found}, '{search}', {variables}::jsonb)"
                return f"COALESCE({exists}, false)"

    def at(self, path: Path, column: str) -> str:
        """Return the value at the path. Not by #>, which would use the key "0" as an index of a
        list."""
        keys = "".join(f" -> {self.parameter(key)}::text" for key in path)
        return f"({column}{keys})"


def _shapes(condition: Contains | OneOf) -> list[Json]:
    """Return JSON values of which metadata must contain at least one."""
    if isinstance(condition, Contains):
        return [_within(condition.path, condition.value)]
    wanted = (v for value in condition.values for v in (value, f"[{value}]"))
    return [_within(condition.path, value) for value in wanted]


def _within(path: Path, value: Json) -> Json:
    for key in reversed(path):
        value = f"{{{json.dumps(key)}: {value}}}"
    return value
