"""Compute the scores of both legs for every candidate, whichever leg found it."""

import uuid
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

from documents.ingestion.embedding import as_text
from ragsite.database.tenancy import current_connection, id_array, query_prepared
from retrieval.requests import Candidate, TermMatch

from . import bm25
from .lexical import LexicalQuery

_SIMILARITIES = """
    SELECT id, 1 - (embedding <=> %(vector)s::halfvec), halfvec_send(embedding)
    FROM documents_chunk WHERE id = ANY (%(ids)s::uuid[])
"""

_MATCHES = """
    SELECT terms.chunk_id, ARRAY(
        SELECT -(terms.impacts <#> word::sparsevec) FROM unnest(%(words)s::text[])
        WITH ORDINALITY asked (word, nth) ORDER BY nth)
    FROM documents_chunkterms terms WHERE terms.chunk_id = ANY (%(ids)s::uuid[])
"""


@dataclass(frozen=True, slots=True)
class Scored:
    """The candidates of both legs with both scores."""

    candidates: tuple[Candidate, ...]
    refused: tuple[Candidate, ...] = ()  # without a quoted phrase, or with an excluded word


NOTHING = Scored(())


def union(dense_hits: Iterable[Candidate], lexical_hits: Iterable[Candidate]) -> list[Candidate]:
    """Merge the candidates of both legs by id, with the rank in each."""
    merged: dict[uuid.UUID, Candidate] = {hit.chunk_id: hit for hit in dense_hits}
    for hit in lexical_hits:
        other = merged.get(hit.chunk_id)
        if other is None:
            merged[hit.chunk_id] = hit
        else:
            other.lexical, other.lexical_rank = hit.lexical, hit.lexical_rank
    return list(merged.values())


def score(candidates: Sequence[Candidate], *, vector: Sequence[float] | None) -> Scored:
    """Complete the scores. Inside namespace().

    Dense hits were read under row-level security and have both scores. Chunks that only the lexical
    leg found are read here, also under row-level security, and get their similarity unless
    `compare` has already set it. A chunk that no longer exists was just replaced, and is dropped.
    """
    unread = [candidate for candidate in candidates if candidate.similarity is None]
    there = compare(unread, vector)
    kept: list[Candidate] = []
    refused: list[Candidate] = []
    for candidate in candidates:
        if candidate.similarity is None and candidate.chunk_id not in there:
            continue
        if candidate.dropped:
            refused.append(candidate)
        else:
            kept.append(candidate)
    return Scored(tuple(kept), tuple(refused))


def matches(
    candidates: Sequence[Candidate], question: LexicalQuery | None
) -> Mapping[uuid.UUID, tuple[TermMatch, ...]]:
    """Return which words of the question each candidate has, and what each adds to its score."""
    if question is None or not question.terms or not candidates:
        return {}
    with current_connection().cursor() as cursor:
        cursor.execute(
            _MATCHES,
            {
                "words": [bm25.sparse([term]) for term in question.terms],
                "ids": [candidate.chunk_id for candidate in candidates],
            },
        )
        rows = cursor.fetchall()
    return {
        chunk_id: tuple(
            TermMatch(term.label, round(float(worth), 4))
            for term, worth in zip(question.terms, worths, strict=True)
            if worth > 0
        )
        for chunk_id, worths in rows
    }


def compare(candidates: Sequence[Candidate], vector: Sequence[float] | None) -> Set[uuid.UUID]:
    """Set each candidate's vector, and its similarity to `vector` unless that is None. Return the
    ids of those that still exist."""
    if not candidates:
        return frozenset()
    parameter = None if vector is None else as_text(vector)
    ids = id_array(candidate.chunk_id for candidate in candidates)
    there = {
        row[0]: row[1:] for row in query_prepared(_SIMILARITIES, {"vector": parameter, "ids": ids})
    }
    for candidate in candidates:
        candidate.similarity, candidate.packed = there.get(candidate.chunk_id, (None, b""))
    return there.keys()
