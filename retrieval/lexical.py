"""The lexical leg: chunks that share words with the question, best first.

The place of the BM25 engine to come; until then PostgreSQL's own ranking over an OR of the words.
"""

import uuid
from typing import Any

from django.db import connection

from documents.lexemes import words

from .filters import Filters, compile_filters
from .requests import Candidate

# plainto_tsquery ANDs all words, and hardly any passage holds every word of a question.
_FIND = """
    SELECT found.chunk_id, found.document_id, found.score
    FROM ragsite.lexical_candidates(
        replace(plainto_tsquery('english', %(words)s)::text, ' & ', ' | ')::tsquery,
        %(profile)s, NULL, %(documents)s::uuid[], NULL, NULL, NULL, NULL, %(at_most)s
    ) found
    {kinds}
    ORDER BY found.score DESC, found.chunk_id LIMIT %(limit)s
"""
_OF_KINDS = """
    JOIN documents_chunk chunk
    ON chunk.id = found.chunk_id AND chunk.kind = ANY (%(kinds)s::text[])
"""
_MATCHING = "SELECT document.id FROM documents_document document WHERE {condition}"


def find(query: str, *, profile_id: uuid.UUID, filters: Filters, limit: int) -> list[Candidate]:
    """Candidates with lexical score and rank. Inside namespace()."""
    parameters: dict[str, Any] = {
        "words": words(query),
        "profile": profile_id,
        "documents": _matching_documents(filters),
        # The function knows nothing of kinds: what it leaves out could not be filtered any more.
        "at_most": None if filters.kinds else limit,
        "kinds": list(filters.kinds),
        "limit": limit,
    }
    with connection.cursor() as cursor:
        cursor.execute(_FIND.format(kinds=_OF_KINDS if filters.kinds else ""), parameters)
        return [
            Candidate(chunk_id, document_id, lexical=float(score), lexical_rank=rank)
            for rank, (chunk_id, document_id, score) in enumerate(cursor.fetchall(), start=1)
        ]


def _matching_documents(filters: Filters) -> list[uuid.UUID] | None:
    """The documents that the filters leave, under row-level security; None: all of them."""
    condition, parameters = compile_filters(filters)
    if not condition:
        return None
    with connection.cursor() as cursor:
        cursor.execute(_MATCHING.format(condition=condition), parameters)
        return [document_id for (document_id,) in cursor.fetchall()]
