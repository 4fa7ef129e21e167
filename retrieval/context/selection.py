"""Choose the k candidates to show, so that each adds something."""

import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.conf import settings

from retrieval.context.near_duplicates import NearDuplicates
from retrieval.ranking.diversity import Budget, Pick, diversify
from retrieval.ranking.vectors import Vector
from retrieval.requests import Candidate, SearchRequest
from retrieval.stored_chunk import StoredChunk

from .assembly import FORMATS, ContextFormat, CountTokens
from .chunk_rows import fetch_rows
from .hits import widen
from .surroundings import merging_for, widen_by_turns

SPARE = 10  # candidates to consider beyond k


@dataclass(frozen=True, slots=True)
class Selection:
    picks: list[Pick]  # shown
    dropped: list[Candidate]  # not shown, with the reason
    rows: dict[uuid.UUID, StoredChunk]  # of all candidates that were considered


def select(
    candidates: Sequence[Candidate],
    vectors: Mapping[uuid.UUID, Vector],
    request: SearchRequest,
    count_tokens: CountTokens,
) -> Selection:
    """Consider the first few candidates, and more if those do not yield k passages; with MMR all of
    them, because any may come next. Inside namespace()."""
    looked_at = len(candidates) if request.mmr_lambda < 1 else _likely(candidates, request)
    form = FORMATS[request.context_format]
    room = token_budget(request) - form.frame_tokens(count_tokens)
    rows: dict[uuid.UUID, StoredChunk] = {}
    overheads: dict[uuid.UUID, int] = {}
    while True:
        likely = candidates[:looked_at]
        new = fetch_rows([c.chunk_id for c in likely if c.chunk_id not in rows])
        rows |= new
        likely = _said(likely, rows, request)
        overheads |= _overheads(new, form, count_tokens)
        picks, dropped = diversify(
            likely,
            rows,
            has_duplicate=NearDuplicates(likely, rows, vectors).any_among,
            vectors=vectors,
            k=request.k,
            max_per_document=request.max_per_document,
            mmr_lambda=request.mmr_lambda,
            budget=Budget(room, overheads),
            merging=merging_for(request.around),
        )
        is_spent = any(candidate.dropped == "token_budget" for candidate in dropped)
        if len(picks) == request.k or is_spent or looked_at >= len(candidates):
            break
        looked_at *= 3
    if request.expand == "section":
        widen(picks, rows)
    if request.around:
        widen_by_turns(picks, rows, request.around)
    return Selection(picks, dropped, rows)


def _said(
    candidates: Sequence[Candidate],
    rows: Mapping[uuid.UUID, StoredChunk],
    request: SearchRequest,
) -> Sequence[Candidate]:
    """Leave out passages without a turn that was asked for."""
    if request.said is None:
        return candidates
    kept = []
    for candidate in candidates:
        row = rows.get(candidate.chunk_id)
        if row and request.said.hold_for_any(row.own_metadata.get("turns", ())):
            kept.append(candidate)
        else:
            candidate.dropped = "turns"
    return kept


def token_budget(request: SearchRequest) -> int:
    return request.token_budget or int(settings.SEARCH["token_budget"])


def _overheads(
    rows: Mapping[uuid.UUID, StoredChunk], form: ContextFormat, count_tokens: CountTokens
) -> dict[uuid.UUID, int]:
    """Return the tokens of each heading in the context."""
    above = [form.head(99, row).rstrip() for row in rows.values()]
    return dict(zip(rows, count_tokens(above) if above else [], strict=True))


def _likely(candidates: Sequence[Candidate], request: SearchRequest) -> int:
    """Estimate how many candidates yield k passages. Some exceed the limit per document, which is
    known; others are near duplicates or neighbours, which is not."""
    if request.max_per_document is None:
        return 2 * request.k + SPARE
    wanted, seen = request.k + SPARE, Counter[uuid.UUID]()
    for place, candidate in enumerate(candidates, start=1):
        seen[candidate.document_id] += 1
        wanted -= seen[candidate.document_id] <= request.max_per_document
        if not wanted:
            return place
    return len(candidates)
