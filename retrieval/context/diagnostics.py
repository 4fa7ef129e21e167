"""Diagnostics: how the candidates of a search were found and ranked, and the outcome of each."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from retrieval.candidates.legs import FoundCandidates
from retrieval.ranking.diversity import Pick
from retrieval.requests import Candidate, Diagnostics, Explanation, TermMatch
from retrieval.reranking import Reranked
from retrieval.search_context import SearchContext


def diagnostics_of(
    context: SearchContext,
    found: FoundCandidates,
    reranked: Reranked,
    *,
    notes: Sequence[str],
    dropped: Sequence[Candidate],
    explanation: Mapping[str, Any],
) -> Diagnostics:
    return Diagnostics(
        profile=context.index.profile.name,
        mode=context.request.mode,
        fusion=context.request.fusion,
        ann_k=len(found.dense_hits),
        lexical_k=len(found.lexical.hits),
        dense_plan=found.plan,
        reranker=reranked.reranker,
        fallbacks=(*found.fallbacks, *filter(None, [reranked.fallback])),
        notes=(*found.lexical.notes, *notes),
        dropped=tuple({"chunk_id": c.chunk_id, "reason": c.dropped} for c in dropped),
        **explanation,
    )


def explain(
    context: SearchContext,
    found: FoundCandidates,
    candidates: Sequence[Candidate],
    *,
    picks: Sequence[Pick],
    dropped: Sequence[Candidate],
    term_matches: Mapping[uuid.UUID, tuple[TermMatch, ...]],
) -> dict[str, Any]:
    """Return the fields of Diagnostics that only an explained search has: every candidate with its
    outcome, the words with their weights, and the filters as interpreted."""
    if not context.request.explain:
        return {}
    fates = {merged: "merged" for pick in picks for merged in pick.merged}
    fates |= {pick.candidate.chunk_id: "" for pick in picks}
    fates |= {candidate.chunk_id: candidate.dropped for candidate in dropped}
    terms = found.lexical_query.terms if found.lexical_query else ()
    return {
        "is_explained": True,
        "filters": {k: v for k, v in asdict(context.request.filters).items() if v},
        "terms": tuple(
            {"term": term.label, "weight": round(term.weight, 4), "chunks": term.chunks}
            for term in terms
        ),
        "candidates": tuple(
            Explanation(
                replace(candidate, dropped=fates.get(candidate.chunk_id, "beyond_k")),
                term_matches.get(candidate.chunk_id, ()),
            )
            for candidate in candidates
        ),
    }
