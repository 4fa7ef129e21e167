"""The input of a reranker: the texts of the best candidates, and their standing if it needs
that."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone

from retrieval.context.chunk_rows import fetch_rows
from retrieval.context.hits import contents
from retrieval.requests import Candidate
from retrieval.rerankers.base import RerankPassage, Standing
from retrieval.reranking import ChosenReranker
from retrieval.stored_chunk import StoredChunk

DAY_SECONDS = 86_400


@dataclass(frozen=True, slots=True)
class RankedChunk:
    """A candidate with its standing, as passed to the learned reranker."""

    source_uri: str
    start: int
    end: int
    passage: RerankPassage


def rerank_passages(
    candidates: Sequence[Candidate], reranker: ChosenReranker
) -> list[RerankPassage]:
    """Return one passage for each candidate. Inside namespace()."""
    if not reranker.reads_passages:
        return [RerankPassage("", candidate.similarity) for candidate in candidates]
    ids = [candidate.chunk_id for candidate in candidates]
    if not reranker.reads_standing:
        texts = contents(ids)
        return [RerankPassage(texts.get(c.chunk_id, ""), c.similarity) for c in candidates]
    rows, now = fetch_rows(ids), timezone.now()
    return [_passage(candidate, rows.get(candidate.chunk_id), now) for candidate in candidates]


def with_standing(candidates: Sequence[Candidate]) -> list[RankedChunk]:
    """Return the candidates with their standing, without chunks that have been deleted. Inside
    namespace()."""
    rows, now = fetch_rows([candidate.chunk_id for candidate in candidates]), timezone.now()
    return [
        RankedChunk(row.source_uri, row.start, row.end, _passage(candidate, row, now))
        for candidate in candidates
        if (row := rows.get(candidate.chunk_id))
    ]


def _passage(candidate: Candidate, row: StoredChunk | None, now: datetime) -> RerankPassage:
    standing = Standing(
        lexical=candidate.lexical,
        vector_rank=candidate.similarity_rank,
        lexical_rank=candidate.lexical_rank,
        fused=candidate.fused,
        fused_rank=candidate.fused_rank,
        title=row.title if row else "",
        section=row.section if row else "",
        age_days=(now - row.dated_at).total_seconds() / DAY_SECONDS if row else None,
    )
    return RerankPassage(row.content if row else "", candidate.similarity, standing)
