"""The scope of a search: the whole namespace or the documents that pass a filter, and its size."""

import json
from dataclasses import dataclass, field, replace
from math import sqrt
from typing import Any

from django.conf import settings

from ragsite.database.tenancy import current_connection
from retrieval.filter_sql import compile_filters, indexed
from retrieval.filters import Filters
from retrieval.search_context import SearchContext, SearchedIndex

# With up to this many chunks, scanning each is faster than the vector index, which has to step over
# every tenant's rows that do not pass: for a hundred candidates, over a hundred times the table's
# rows divided by the rows that pass. So the bound grows with the square root of the table, up to
# SEARCH_EXACT_SCAN_ROWS. docs/decisions/0015-retrieval.md
_BOUND = """
    SELECT CASE WHEN %(chunks)s <= %(few)s THEN %(few)s
                ELSE least(%(few)s, sqrt(1600 * greatest(reltuples, %(chunks)s))) END::int AS chunks
    FROM pg_class WHERE oid = 'documents_chunk'::regclass
"""

# Ids are random, so the first documents are a fair sample for estimating how many pass. All
# documents, or all that an index finds, are checked only if few seem to pass. The condition is
# compiled: it contains column names and parameters, and nothing a user wrote.
SAMPLE = 1000
_DOCUMENTS = """
    WITH bound AS MATERIALIZED ({bound}), sampled AS MATERIALIZED (
        SELECT chunks_count, {condition} AS passes FROM documents_document document
        WHERE namespace_id = %(tenant)s AND live_version IS NOT NULL AND %(chunks)s > %(few)s
        ORDER BY id LIMIT %(sample)s
    ), guessed AS MATERIALIZED (
        SELECT coalesce(sum(chunks_count) FILTER (WHERE passes) * %(chunks)s::float8
                        / nullif(sum(chunks_count), 0), 0)::int AS chunks
        FROM sampled
    ), passing AS MATERIALIZED (
        SELECT id, chunks_count FROM {found} documents_document document {by}
        WHERE namespace_id = %(tenant)s AND live_version IS NOT NULL AND {condition}
          AND (SELECT guessed.chunks <= bound.chunks FROM guessed, bound)
        LIMIT (SELECT chunks + 1 FROM bound)
    ), counted AS (
        SELECT count(*) AS documents, coalesce(sum(chunks_count), 0)::int AS chunks FROM passing
    )
    SELECT guessed.chunks, counted.chunks,
           CASE WHEN greatest(guessed.chunks, counted.chunks, counted.documents) <= bound.chunks
                THEN ARRAY(SELECT id FROM passing)::text END
    FROM guessed, bound, counted
"""

_OF_KINDS = """
    SELECT count(*), (SELECT chunks FROM ({bound}) bound) FROM (
        SELECT FROM documents_chunk WHERE namespace_id = %(tenant)s
        AND profile_id = %(profile)s AND kind = ANY (%(kinds)s)
        LIMIT (SELECT chunks + 1 FROM ({bound}) bound)
    ) counted
"""

# The planner's estimate is accurate enough to choose a strategy.
_KINDS_BY_STATISTICS = """
    EXPLAIN (FORMAT JSON) SELECT FROM documents_chunk WHERE namespace_id = %(tenant)s
    AND profile_id = %(profile)s AND kind = ANY (%(kinds)s)
"""


@dataclass(frozen=True, slots=True)
class SearchScope:
    """The part of a namespace that a filter leaves; the same for both legs."""

    chunks: int  # estimated
    share: float = 1.0  # fraction of the namespace's chunks; 1 without a filter
    kinds: tuple[str, ...] = ()
    condition: str = ""  # SQL over `document`
    parameters: dict[str, Any] = field(default_factory=dict)
    # The ids of the documents that pass, as a PostgreSQL array, if there are few.
    documents: str | None = None
    # Too many to scan, even if they are fewer than SEARCH_EXACT_SCAN_ROWS.
    through_index: bool = False

    def join(self, row: str) -> str:
        """The filter as a join, for statements that do not accept document ids. It names the
        namespace although row-level security does too: as a join condition it is cheaper per
        row."""
        if not self.condition:
            return ""
        return (
            f"JOIN documents_document document ON document.id = {row}.document_id "
            f"AND document.namespace_id = %(tenant)s AND {self.condition}"
        )


def scope_of(context: SearchContext) -> SearchScope:
    """Inside namespace()."""
    return resolve(context.filters, context.index, few=settings.SEARCH["exact_scan_rows"])


def whole(index: SearchedIndex, *, few: int) -> SearchScope:
    """Return the scope without a filter, by the same rule as `_BOUND` for one that leaves much."""
    bound = min(few, sqrt(1600 * max(index.table_rows, index.chunk_count)))
    return SearchScope(chunks=index.chunk_count, through_index=index.chunk_count > bound)


def resolve(filters: Filters, index: SearchedIndex, *, few: int) -> SearchScope:
    """Return the scope that the filters define. Inside namespace()."""
    if filters.is_empty:
        return whole(index, few=few)
    scope = SearchScope(chunks=index.chunk_count, parameters={"tenant": index.namespace_id})
    condition, parameters = compile_filters(filters)
    if condition:
        # Documents listed by id are found by key, so there is nothing to estimate.
        sample = 0 if filters.document_ids else SAMPLE
        lookup = indexed(filters)
        scope = passing(condition, parameters, index, few=few, sample=sample, lookup=lookup)
    if filters.kinds:
        scope = _of_kinds(replace(scope, kinds=tuple(filters.kinds)), index, few)
    return scope


def passing(
    condition: str,
    parameters: dict[str, Any],
    index: SearchedIndex,
    *,
    few: int,
    sample: int = SAMPLE,
    lookup: tuple[str, list[str]] | None = None,
) -> SearchScope:
    """Resolve a filter that leaves few chunks to its documents, so that each leg can scan exactly
    those instead of relying on the planner's estimate. `lookup` is an SQL function that finds
    documents by an index, and its argument. Inside namespace()."""
    function, wanted = lookup or ("", None)
    values = {"sample": sample, "wanted": wanted}
    guessed, counted, documents = _row(
        statement(condition, function), index, few, **parameters, **values
    )
    chunks = counted if documents is not None else max(guessed, counted)
    return SearchScope(
        chunks,
        _share(chunks, index),
        condition=condition,
        parameters={**parameters, "tenant": index.namespace_id},
        documents=documents,
        through_index=documents is None,
    )


def statement(condition: str, function: str) -> str:
    """With a function that uses an index, only the documents it finds are checked."""
    return _DOCUMENTS.format(
        condition=condition,
        bound=_BOUND,
        found=f"{function.format('%(wanted)s')} found JOIN" if function else "",
        by="ON document.id = found.document_id" if function else "",
    )


def _of_kinds(scope: SearchScope, index: SearchedIndex, few: int) -> SearchScope:
    """Narrow the scope to chunks of the requested kinds."""
    if scope.documents is not None:
        return scope
    kinds = {"kinds": list(scope.kinds), "profile": index.profile.pk}
    chunks, bound = _row(_OF_KINDS.format(bound=_BOUND), index, few, **kinds)
    if chunks <= bound:
        return replace(scope, chunks=chunks, share=_share(chunks, index), through_index=False)
    (plan,) = _row(_KINDS_BY_STATISTICS, index, few, **kinds)
    believed = json.loads(plan) if isinstance(plan, str) else plan
    of_kinds = _share(max(chunks, believed[0]["Plan"]["Plan Rows"]), index)
    share = scope.share * of_kinds
    return replace(scope, chunks=int(index.chunk_count * share), share=share, through_index=True)


def _row(statement: str, index: SearchedIndex, few: int, **parameters: Any) -> tuple[Any, ...]:
    common: dict[str, Any] = {"tenant": index.namespace_id, "chunks": index.chunk_count, "few": few}
    with current_connection().cursor() as cursor:
        cursor.execute(statement, {**parameters, **common})
        row: tuple[Any, ...] = cursor.fetchone()
        return row


def _share(chunks: int, index: SearchedIndex) -> float:
    return min(1.0, chunks / max(index.chunk_count, 1))
