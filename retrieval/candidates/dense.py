"""The dense leg: chunks with the nearest vectors."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from documents.ingestion.embedding import as_text
from documents.models import IndexProfile
from documents.profiles import ann_methods
from ragsite.database.tenancy import query_planned, set_locally
from retrieval.requests import Candidate

from .lexical import LexicalQuery
from .scope import SearchScope

# With a filter ef_search is raised by this factor from the start: an iterative scan that continues
# for lack of results finds some, but not always the nearest.
FILTERED_EF_FACTOR = 8
MAX_EF_SEARCH = 1000  # pgvector's limit

DensePlan = str  # "exact", the profile's method, or "…, then exact"

# The distance is written once; otherwise it would be computed twice per row.
_EXACT = """
    SELECT id, document_id, 1 - distance AS similarity FROM (
        SELECT chunk.id, chunk.document_id, chunk.embedding <=> %(vector)s::halfvec AS distance
        FROM documents_chunk chunk {join}
        WHERE chunk.namespace_id = %(namespace)s AND chunk.profile_id = %(profile)s {narrowed}
        ORDER BY distance, id LIMIT %(limit)s
    ) near
"""

# Per document: with "= ANY" and thousands of ids, planning takes milliseconds, and the plan also
# reads all of the namespace's entries in another index.
_OF_DOCUMENTS = """
    SELECT id, document_id, 1 - distance AS similarity FROM (
        SELECT chunk.id, chunk.document_id, chunk.embedding <=> %(vector)s::halfvec AS distance
        FROM unnest(%(documents)s::uuid[]) passing (id) CROSS JOIN LATERAL (
            SELECT chunk.id, chunk.document_id, chunk.embedding FROM documents_chunk chunk
            WHERE chunk.document_id = passing.id
              AND chunk.namespace_id = %(namespace)s AND chunk.profile_id = %(profile)s {narrowed}
            OFFSET 0
        ) chunk
        ORDER BY distance, id LIMIT %(limit)s
    ) near
"""

# The iterative scan returns rows roughly in order, and the outer query sorts them. Without "+ 0"
# PostgreSQL would assume that they are sorted and skip the sort.
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
    SELECT id, document_id, 1 - distance AS similarity FROM near ORDER BY distance + 0, id
"""

# The nearest by their bits, more than requested, and of those the nearest by their full vectors.
_RESCORED = """
    WITH alike AS MATERIALIZED (
        SELECT chunk.id, chunk.document_id, chunk.embedding
        FROM documents_chunk chunk {join}
        WHERE chunk.namespace_id = %(namespace)s AND chunk.profile_id = %(profile)s {narrowed}
        ORDER BY binary_quantize(chunk.embedding)::bit({dimensions})
                 <~> binary_quantize(%(vector)s::halfvec({dimensions}))::bit({dimensions})
        LIMIT %(alike)s
    )
    SELECT id, document_id, 1 - distance AS similarity FROM (
        SELECT id, document_id, embedding <=> %(vector)s::halfvec AS distance FROM alike
        ORDER BY distance, id LIMIT %(limit)s
    ) near
"""

# The nearest chunks with their vectors and lexical scores, in one statement.
_RANKED = """
    WITH nearest AS MATERIALIZED ({nearest})
    SELECT nearest.id, nearest.document_id, nearest.similarity, halfvec_send(chunk.embedding)
           {judged}
    FROM nearest JOIN documents_chunk chunk ON chunk.id = nearest.id {words}
    ORDER BY nearest.similarity DESC, nearest.id
"""
_JUDGED = """
    , -(terms.impacts <#> %(weights)s::sparsevec),
    %(required)s::text IS NULL OR terms.search_vector @@ %(required)s::tsquery
"""
_WORDS = "JOIN documents_chunkterms terms ON terms.chunk_id = nearest.id"


@dataclass(frozen=True, slots=True)
class DenseStatement:
    """The statement for this number of chunks, and its parameters."""

    statement: str
    parameters: dict[str, Any]
    plan: DensePlan
    exact_statement: str  # used if the index returns too few
    width: int = 0  # number of rows requested from the index, if more than the limit


def prepared(
    vector: Sequence[float],
    *,
    namespace_id: uuid.UUID,
    profile: IndexProfile,
    scope: SearchScope,
    limit: int,
    exact_up_to: int,
) -> DenseStatement:
    """Scan few chunks exactly, which is correct and fast: the planner would prefer the shared index
    and step over all other tenants' rows. scope.py decides how many are few under a filter."""
    parameters = {
        **scope.parameters,
        "vector": as_text(vector),
        "namespace": namespace_id,
        "profile": profile.pk,
        "limit": limit,
    }
    narrowed = ""
    if scope.kinds:
        narrowed = "AND chunk.kind = ANY (%(kinds)s::text[])"
        parameters["kinds"] = list(scope.kinds)
    parts = {"join": scope.join("chunk"), "narrowed": narrowed}
    exact = _EXACT.format(**parts)
    if scope.documents is not None:
        exact = _OF_DOCUMENTS.format(narrowed=narrowed)
        parameters["documents"] = scope.documents
    method = ann_methods.METHODS.get(profile.ann_method)
    if method is None or (scope.chunks <= exact_up_to and not scope.through_index):
        return DenseStatement(exact, parameters, "exact", exact)
    # Must match the index: with another type or dimension it could not be used.
    cast = {"type": method.type, "dimensions": profile.dimensions}
    if profile.ann_method == IndexProfile.Ann.BIT:
        parameters["alike"] = width = limit * ann_methods.rescored(profile.ann_options)
        rescored = _RESCORED.format(**parts, **cast)
        return DenseStatement(rescored, parameters, profile.ann_method, exact, width)
    return DenseStatement(
        _APPROXIMATE.format(**parts, **cast), parameters, profile.ann_method, exact
    )


def find(
    vector: Sequence[float],
    *,
    namespace_id: uuid.UUID,
    profile: IndexProfile,
    scope: SearchScope,
    limit: int,
    exact_up_to: int,
    ef_search: int,
    question: LexicalQuery | None = None,
) -> tuple[list[Candidate], DensePlan]:
    """Return candidates with similarity and rank, and the plan used. Inside namespace(). With
    `question` each also gets its lexical score, and `dropped` is set if it lacks a phrase or has an
    excluded word."""
    query = prepared(
        vector,
        namespace_id=namespace_id,
        profile=profile,
        scope=scope,
        limit=limit,
        exact_up_to=exact_up_to,
    )
    if query.plan == "exact":
        return _run(query.statement, query.parameters, question), "exact"
    allow_iterative_scan(profile, max(ef_search, query.width), scope)
    found = _run(query.statement, query.parameters, question)
    if len(found) == limit:
        return found, query.plan
    # The scan stopped early, which a selective filter can cause.
    found = _run(query.exact_statement, query.parameters, question)
    return found, f"{query.plan}, then exact"


def _run(
    statement: str, parameters: dict[str, Any], question: LexicalQuery | None
) -> list[Candidate]:
    judged = words = ""
    if question is not None:
        judged, words = _JUDGED, _WORDS
        asked = {"weights": question.weights, "required": question.required or None}
        parameters = {**parameters, **asked}
    statement = _RANKED.format(nearest=statement, judged=judged, words=words)
    found = []
    for rank, (chunk_id, document_id, similarity, packed, *of_words) in enumerate(
        query_planned(statement, parameters), start=1
    ):
        candidate = Candidate(
            chunk_id, document_id, packed, similarity=similarity, similarity_rank=rank
        )
        if of_words:
            candidate.lexical, is_wanted = of_words
            candidate.dropped = "" if is_wanted else "query_syntax"
        found.append(candidate)
    return found


def allow_iterative_scan(profile: IndexProfile, ef_search: int, scope: SearchScope) -> None:
    """Allow the index scan to continue. Otherwise a filter, or deleted rows that are not vacuumed
    yet, can empty the result."""
    set_locally(scan_settings(profile, ef_search, has_filter=scope.share < 1))


def scan_settings(
    profile: IndexProfile, ef_search: int, *, has_filter: bool = False
) -> dict[str, str]:
    """Return the settings of PostgreSQL for this profile's index."""
    if profile.ann_method in (IndexProfile.Ann.HNSW, IndexProfile.Ann.BIT):
        factor = FILTERED_EF_FACTOR if has_filter else 1
        ef_search = min(MAX_EF_SEARCH, factor * ef_search)
        return {"hnsw.iterative_scan": "relaxed_order", "hnsw.ef_search": str(ef_search)}
    if profile.ann_method == IndexProfile.Ann.IVFFLAT:
        probes = ann_methods.probes(profile.ann_options, profile.index_facts)
        return {"ivfflat.iterative_scan": "relaxed_order", "ivfflat.probes": str(probes)}
    return {}  # other methods always scan iteratively
