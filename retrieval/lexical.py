"""The lexical leg: chunks that share words with the question, best first.

The place of the BM25 engine to come; until then PostgreSQL's own ranking over an OR of the words.
"""

import json
import uuid

from django.db import connection

from documents.lexemes import words

from .requests import Candidate, Filters


def find(query: str, *, profile_id: uuid.UUID, filters: Filters, limit: int) -> list[Candidate]:
    """Candidates with lexical score and rank. Inside namespace()."""
    with connection.cursor() as cursor:
        # plainto_tsquery ANDs all words, and hardly any passage holds every word of a question.
        cursor.execute(
            "SELECT chunk_id, document_id, score FROM ragsite.lexical_candidates("
            "  replace(plainto_tsquery('english', %s)::text, ' & ', ' | ')::tsquery,"
            "  %s, %s::text[], %s::uuid[], %s::text[], %s, %s, %s::jsonb, %s)",
            [
                words(query),
                profile_id,
                list(filters.tags) or None,
                list(filters.document_ids) or None,
                list(filters.source_types) or None,
                filters.date_from,
                filters.date_to,
                json.dumps(filters.metadata) if filters.metadata else None,
                limit,
            ],
        )
        return [
            Candidate(chunk_id, document_id, lexical=float(score), lexical_rank=rank)
            for rank, (chunk_id, document_id, score) in enumerate(cursor.fetchall(), start=1)
        ]
