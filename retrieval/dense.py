"""The dense leg: chunks whose vectors lie nearest to the question's."""

import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from documents import ann
from documents.models import IndexProfile
from ragsite.tenancy import current_connection

from .requests import Candidate
from .scope import Scope

Plan = str  # "exact", the profile's method, or "…, then exact"

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
               chunk.embedding::{type}({dimensions}) <=> %(vector)s::{type}({dimensions})
                 AS distance
        FROM documents_chunk chunk {join}
        WHERE chunk.namespace_id = %(namespace)s AND chunk.profile_id = %(profile)s {narrowed}
        ORDER BY chunk.embedding::{type}({dimensions}) <=> %(vector)s::{type}({dimensions})
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
    parts = {"join": scope.join("chunk"), "narrowed": narrowed}
    exact = _EXACT.format(**parts)
    method = ann.METHODS.get(profile.ann_method)
    if method is None or scope.chunks <= exact_up_to:
        return Prepared(exact, parameters, "exact", exact)
    # As the index was made: with another type or dimension it could not be used.
    cast = {"type": method.type, "dimensions": profile.dimensions}
    return Prepared(_APPROXIMATE.format(**parts, **cast), parameters, profile.ann_method, exact)


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
    allow_iterative_scan(profile, ef_search)
    found = _run(query.statement, query.parameters)
    if len(found) == limit:
        return found, query.plan
    # The scan gave up before it had enough, which a selective filter can make it do.
    return _run(query.exact_statement, query.parameters), f"{query.plan}, then exact"


def _run(statement: str, parameters: dict[str, Any]) -> list[Candidate]:
    with current_connection().cursor() as cursor:
        cursor.execute(statement, parameters)
        return [
            Candidate(chunk_id, document_id, vector=float(similarity), vector_rank=rank)
            for rank, (chunk_id, document_id, similarity) in enumerate(cursor.fetchall(), start=1)
        ]


def allow_iterative_scan(profile: IndexProfile, ef_search: int) -> None:
    """Without it a filter, or rows deleted and not yet vacuumed, can empty the result."""
    if profile.ann_method == IndexProfile.Ann.HNSW:
        wanted = {"hnsw.iterative_scan": "relaxed_order", "hnsw.ef_search": str(ef_search)}
    elif profile.ann_method == IndexProfile.Ann.IVFFLAT:
        probes = ann.probes(profile.ann_options, profile.index_facts)
        wanted = {"ivfflat.iterative_scan": "relaxed_order", "ivfflat.probes": str(probes)}
    else:
        return  # the other methods go on by themselves
    with current_connection().cursor() as cursor:
        cursor.execute(
            "SELECT " + ", ".join(["set_config(%s, %s, true)"] * len(wanted)),
            [text for setting in wanted.items() for text in setting],
        )
