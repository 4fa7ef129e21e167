"""The dense leg: chunks whose vectors lie nearest to the question's."""

import json
import uuid
from collections.abc import Sequence
from typing import Any, Literal

from django.db import connection

from documents.models import IndexProfile

from .filters import Filters, compile_filters
from .requests import Candidate

Plan = Literal["exact", "hnsw", "hnsw, then exact"]

_EXACT = """
    SELECT chunk.id, chunk.document_id, 1 - (chunk.embedding <=> %(vector)s::vector)
    FROM documents_chunk chunk {join}
    WHERE chunk.namespace_id = %(namespace)s AND chunk.profile_id = %(profile)s
    ORDER BY chunk.embedding <=> %(vector)s::vector, chunk.id
    LIMIT %(limit)s
"""

# The index holds half-precision vectors and the iterative scan returns them roughly in order:
# the outer query puts them right with the full ones.
_APPROXIMATE = """
    WITH near AS MATERIALIZED (
        SELECT chunk.id, chunk.document_id, chunk.embedding
        FROM documents_chunk chunk {join}
        WHERE chunk.namespace_id = %(namespace)s AND chunk.profile_id = %(profile)s
        ORDER BY chunk.embedding::halfvec({dimensions}) <=> %(vector)s::halfvec({dimensions})
        LIMIT %(limit)s
    )
    SELECT id, document_id, 1 - (embedding <=> %(vector)s::vector)
    FROM near ORDER BY embedding <=> %(vector)s::vector, id
"""


def find(
    vector: Sequence[float],
    *,
    namespace_id: uuid.UUID,
    profile: IndexProfile,
    filters: Filters,
    limit: int,
    chunk_count: int,
    exact_up_to: int,
    ef_search: int,
) -> tuple[list[Candidate], Plan]:
    """Candidates with similarity and rank, and the plan taken. Inside namespace().

    Small namespaces are scanned exactly by rule: that is right and fast, and the planner, left to
    itself, prefers the shared index, which then has to step over everybody else's rows.
    """
    join, parameters = _where(filters)
    parameters |= {
        "vector": json.dumps(list(vector)),
        "namespace": namespace_id,
        "profile": profile.pk,
        "limit": limit,
    }
    if profile.ann_method == IndexProfile.Ann.EXACT or chunk_count <= exact_up_to:
        return _run(_EXACT.format(join=join), parameters), "exact"
    _allow_iterative_scan(ef_search)
    statement = _APPROXIMATE.format(join=join, dimensions=profile.dimensions)
    found = _run(statement, parameters)
    if len(found) == limit:
        return found, "hnsw"
    # The scan gave up before it had enough, which a selective filter can make it do.
    return _run(_EXACT.format(join=join), parameters), "hnsw, then exact"


def _run(statement: str, parameters: dict[str, Any]) -> list[Candidate]:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return [
            Candidate(chunk_id, document_id, vector=float(similarity), vector_rank=rank)
            for rank, (chunk_id, document_id, similarity) in enumerate(cursor.fetchall(), start=1)
        ]


def _allow_iterative_scan(ef_search: int) -> None:
    """Without it a filter, or rows deleted and not yet vacuumed, can empty the result."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT set_config('hnsw.iterative_scan', 'relaxed_order', true), "
            "set_config('hnsw.ef_search', %s, true)",
            [str(ef_search)],
        )


def _where(filters: Filters) -> tuple[str, dict[str, Any]]:
    """The filters as a join with the documents they leave; nothing if there are none."""
    documents, parameters = compile_filters(filters)
    conditions = ["document.id = chunk.document_id"]
    if documents:
        conditions.append(documents)
    if filters.kinds:
        conditions.append("chunk.kind = ANY (%(kinds)s::text[])")
        parameters["kinds"] = list(filters.kinds)
    if len(conditions) == 1:
        return "", {}
    return f"JOIN documents_document document ON {' AND '.join(conditions)}", parameters
