"""What both legs would say of every candidate, whichever of them found it."""

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
    refused: tuple[Candidate, ...] = ()  # lack a phrase, or hold an excluded word


NOTHING = Scored(())


def union(near: Iterable[Candidate], wordy: Iterable[Candidate]) -> list[Candidate]:
    """Every candidate of either leg once, by its id, with its rank in each."""
    merged: dict[uuid.UUID, Candidate] = {hit.chunk_id: hit for hit in near}
    for hit in wordy:
        other = merged.get(hit.chunk_id)
        if other is None:
            merged[hit.chunk_id] = hit
        else:
            other.lexical, other.lexical_rank = hit.lexical, hit.lexical_rank
    return list(merged.values())


def score(candidates: Sequence[Candidate], *, vector: Sequence[float] | None) -> Scored:
    """Inside namespace(). What the vector leg found was read under row-level security and has both
    scores. What only the words have found is read so here, the second fence behind them, and
    gets its similarity, unless it has been (`compare`). If it is not there any more it was
    replaced a moment ago: it is left out."""
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
    """Which words of the question each candidate holds, and what each is worth there."""
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
    """Give each its own vector, and its similarity to this one if there is one. Returns who is
    there."""
    if not candidates:
        return frozenset()
    told = None if vector is None else as_text(vector)
    ids = id_array(candidate.chunk_id for candidate in candidates)
    there = {row[0]: row[1:] for row in query_prepared(_SIMILARITIES, {"vector": told, "ids": ids})}
    for candidate in candidates:
        candidate.similarity, candidate.packed = there.get(candidate.chunk_id, (None, b""))
    return there.keys()
