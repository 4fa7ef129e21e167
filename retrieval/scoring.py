"""What both legs would say of every candidate, whichever of them found it."""

import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ragsite.tenancy import current_connection

from . import bm25
from .lexical import Question
from .requests import Candidate, TermMatch

_SCORES = """
    SELECT chunk.id, 1 - (chunk.embedding <=> %(vector)s::halfvec),
           -(terms.impacts <#> %(weights)s::sparsevec),
           %(required)s::text IS NULL OR terms.search_vector @@ %(required)s::tsquery
    FROM documents_chunk chunk JOIN documents_chunkterms terms ON terms.chunk_id = chunk.id
    WHERE chunk.id = ANY (%(ids)s::uuid[])
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


def score(
    candidates: Sequence[Candidate],
    *,
    vector: Sequence[float] | None,
    question: Question | None,
) -> Scored:
    """Inside namespace(): the chunks are read under row-level security, the second fence behind
    the legs. A candidate that is not there any more was replaced a moment ago, and is left out."""
    rows = _rows(candidates, vector, question)
    kept: list[Candidate] = []
    refused: list[Candidate] = []
    for candidate in candidates:
        row = rows.get(candidate.chunk_id)
        if row is None:
            continue
        similarity, lexical, is_wanted = row
        if vector is not None:
            candidate.vector = similarity
        if question is not None:
            candidate.lexical = lexical
        if is_wanted:
            kept.append(candidate)
        else:
            candidate.dropped = "query_syntax"
            refused.append(candidate)
    return Scored(tuple(kept), tuple(refused))


def matches(
    candidates: Sequence[Candidate], question: Question | None
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


def _rows(
    candidates: Sequence[Candidate], vector: Sequence[float] | None, question: Question | None
) -> dict[uuid.UUID, tuple[Any, ...]]:
    if not candidates:
        return {}
    with current_connection().cursor() as cursor:
        cursor.execute(
            _SCORES,
            {
                "vector": None if vector is None else json.dumps(list(vector)),
                "weights": bm25.sparse(question.terms if question else ()),
                "required": (question.required if question else "") or None,
                "ids": [candidate.chunk_id for candidate in candidates],
            },
        )
        return {row[0]: row[1:] for row in cursor.fetchall()}
