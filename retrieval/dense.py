"""The dense leg: chunks whose vectors lie nearest to the question's."""

import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from documents.models import IndexProfile
from ragsite.tenancy import current_connection

from .requests import Candidate
from .scope import Scope

Plan = Literal["exact", "hnsw", "hnsw, then exact"]

_EXACT = """
    SELECT chunk.id, chunk.document_id, 1 - (chunk.embedding <=> %(vector)s::halfvec) AS similarity
    FROM documents_chunk chunk {join}
    WHERE chunk.namespace_id = %(namespace)s AND chunk.profile_id = %(profile)s {narrowed}
    ORDER BY chunk.embedding <=> %(vector)s::halfvec, chunk.id
    LIMIT %(limit)s
"""

# The iterative scan returns its rows roughly in order: the outer query puts them right. The "+ 0"
# keeps PostgreSQL from believing that they are in order already and leaving the sort out.
_APPROXIMATE = """
    WITH near AS MATERIALIZED (
        SELECT chunk.id, chunk.document_id,
               chunk.embedding::halfvec({dimensions}) <=> %(vector)s::halfvec({dimensions})
                 AS distance
        FROM documents_chunk chunk {join}
        WHERE chunk.namespace_id = %(namespace)s AND chunk.profile_id = %(profile)s {narrowed}
        ORDER BY chunk.embedding::halfvec({dimensions}) <=> %(vector)s::halfvec({dimensions})
        LIMIT %(limit)s
    )
    SELECT id, document_id, 1 - distance FROM near ORDER BY distance + 0, id
"""


@dataclass(frozen=True, slots=True)
class Prepared:
    """The statement that the rule chose."""

    statement: str
    parameters: dict[str, Any]
    plan: Plan
    exact_statement: str  # for when the index gives up too early


def prepared(
    vector: Sequence[float],
    *,
    namespace_id: uuid.UUID,
    profile: IndexProfile,
    scope: Scope,
    limit: int,
    exact_up_to: int,
) -> Prepared:
    """Where few chunks are left they are scanned exactly by rule: that is right and fast, and the
    planner, left to itself, prefers the shared index, which then has to step over everybody
    else's rows."""
    parameters = {
        **scope.parameters,
        "vector": json.dumps(list(vector)),
        "namespace": namespace_id,
        "profile": profile.pk,
        "limit": limit,
    }
    narrowed = ""
    if scope.documents is not None:
        narrowed += " AND chunk.document_id = ANY (%(documents)s::uuid[])"
        parameters["documents"] = list(scope.documents)
    if scope.kinds:
        narrowed += " AND chunk.kind = ANY (%(kinds)s::text[])"
        parameters["kinds"] = list(scope.kinds)
    parts = {"join": scope.join("chunk"), "narrowed": narrowed, "dimensions": profile.dimensions}
    exact = _EXACT.format(**parts)
    if profile.ann_method == IndexProfile.Ann.EXACT or scope.chunks <= exact_up_to:
        return Prepared(exact, parameters, "exact", exact)
    return Prepared(_APPROXIMATE.format(**parts), parameters, "hnsw", exact)


def find(
    vector: Sequence[float],
    *,
    namespace_id: uuid.UUID,
    profile: IndexProfile,
    scope: Scope,
    limit: int,
    exact_up_to: int,
    ef_search: int,
) -> tuple[list[Candidate], Plan]:
    """Candidates with similarity and rank, and the plan taken. Inside namespace()."""
    query = prepared(
        vector,
        namespace_id=namespace_id,
        profile=profile,
        scope=scope,
        limit=limit,
        exact_up_to=exact_up_to,
    )
    if query.plan == "exact":
        return _run(query.statement, query.parameters), "exact"
    allow_iterative_scan(ef_search)
    found = _run(query.statement, query.parameters)
    if len(found) == limit:
        return found, "hnsw"
    # The scan gave up before it had enough, which a selective filter can make it do.
    return _run(query.exact_statement, query.parameters), "hnsw, then exact"


def _run(statement: str, parameters: dict[str, Any]) -> list[Candidate]:
    with current_connection().cursor() as cursor:
        cursor.execute(statement, parameters)
        return [
            Candidate(chunk_id, document_id, vector=float(similarity), vector_rank=rank)
            for rank, (chunk_id, document_id, similarity) in enumerate(cursor.fetchall(), start=1)
        ]


def allow_iterative_scan(ef_search: int) -> None:
    """Without it a filter, or rows deleted and not yet vacuumed, can empty the result."""
    with current_connection().cursor() as cursor:
        cursor.execute(
            "SELECT set_config('hnsw.iterative_scan', 'relaxed_order', true), "
            "set_config('hnsw.ef_search', %s, true)",
            [str(ef_search)],
        )
