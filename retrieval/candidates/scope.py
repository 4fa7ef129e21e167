"""What to search: the whole namespace or what passes a filter, and about how much that is."""

import json
from dataclasses import dataclass, field, replace
from typing import Any

from ragsite.database.tenancy import current_connection
from retrieval.filters import Filters, compile_filters, indexed
from retrieval.search_context import SearchedIndex

# Up to so many chunks of a large namespace it is quicker to look at each than to go through the
# vector index, which has to step over all that do not pass, everybody's: for a hundred candidates
# over a hundred times the table's rows for each that passes. So the bound grows with the root of
# the table, to SEARCH_EXACT_SCAN_ROWS. docs/decisions/0015-retrieval.md
_BOUND = """
    SELECT CASE WHEN %(chunks)s <= %(few)s THEN %(few)s
                ELSE least(%(few)s, sqrt(1600 * greatest(reltuples, %(chunks)s))) END::int AS chunks
    FROM pg_class WHERE oid = 'documents_chunk'::regclass
"""

# Ids are random: the first documents are as good as any to guess from how many pass. Every document
# is looked at only if those seem to be few, or every one that an index finds. The condition is
# compiled: it names columns and parameters, and holds nothing a user wrote.
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

# What the planner believes is enough to choose how hard to look.
_KINDS_BY_STATISTICS = """
    EXPLAIN (FORMAT JSON) SELECT FROM documents_chunk WHERE namespace_id = %(tenant)s
    AND profile_id = %(profile)s AND kind = ANY (%(kinds)s)
"""


@dataclass(frozen=True, slots=True)
class Scope:
    """What a filter leaves of a namespace; the same for both legs."""

    chunks: int  # about how many are left
    share: float = 1.0  # of the namespace's chunks; 1 without a filter
    kinds: tuple[str, ...] = ()
    condition: str = ""  # SQL over `document`
    parameters: dict[str, Any] = field(default_factory=dict)
    # What passes the condition, if it is few: the ids of documents, as PostgreSQL writes an array.
    documents: str | None = None
    # Too many to read each, though they may be fewer than SEARCH_EXACT_SCAN_ROWS.
    through_index: bool = False

    def join(self, row: str) -> str:
        """The filter as a join, for statements that do not take the documents' ids. It names the
        namespace although row-level security does: as a join condition it is cheaper per row."""
        if not self.condition:
            return ""
        return (
            f"JOIN documents_document document ON document.id = {row}.document_id "
            f"AND document.namespace_id = %(tenant)s AND {self.condition}"
        )


def resolve(filters: Filters, index: SearchedIndex, *, few: int) -> Scope:
    """What the filters leave of the index. Inside namespace()."""
    scope = Scope(chunks=index.chunk_count, parameters={"tenant": index.namespace_id})
    condition, parameters = compile_filters(filters)
    if condition:
        # Documents by name are found by their keys: there is nothing to guess.
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
) -> Scope:
    """A filter that leaves few chunks is turned into its documents: then each leg can look at
    exactly those, by rule instead of by the planner's guess. `lookup`: an SQL function that finds
    documents by an index, and its argument. Inside namespace()."""
    function, wanted = lookup or ("", None)
    own = {"sample": sample, "wanted": wanted}
    guessed, counted, documents = _row(
        statement(condition, function), index, few, **parameters, **own
    )
    chunks = counted if documents is not None else max(guessed, counted)
    return Scope(
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


def _of_kinds(scope: Scope, index: SearchedIndex, few: int) -> Scope:
    """The scope narrowed to chunks of its kinds."""
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


def _row(asked: str, index: SearchedIndex, few: int, **parameters: Any) -> tuple[Any, ...]:
    common: dict[str, Any] = {"tenant": index.namespace_id, "chunks": index.chunk_count, "few": few}
    with current_connection().cursor() as cursor:
        cursor.execute(asked, {**parameters, **common})
        row: tuple[Any, ...] = cursor.fetchone()
        return row


def _share(chunks: int, index: SearchedIndex) -> float:
    return min(1.0, chunks / max(index.chunk_count, 1))
