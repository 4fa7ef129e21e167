"""Choose the k candidates to show, so that each adds something."""

import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from django.conf import settings

from retrieval.context.near_duplicates import NearDuplicates
from retrieval.ranking.diversity import Budget, Pick, diversify
from retrieval.ranking.vectors import Vector
from retrieval.requests import Candidate, SearchRequest
from retrieval.stored_chunk import StoredChunk

from .assembly import FORMATS, ContextFormat, CountTokens, longest_head
from .chunk_rows import fetch_rows
from .hits import widen
from .surroundings import merging_for, widen_by_turns

SPARE = 10  # candidates to consider beyond k
# turns to show on each side, if the request does not say
AROUND = (0, 1, 2, 3, 4, 6, 8, 12, 20, 50)
UNLIMITED = 10_000_000  # tokens
MARGIN = 1.05


@dataclass(frozen=True, slots=True)
class Selection:
    picks: list[Pick]  # candidates that are shown
    dropped: list[Candidate]  # candidates that are not shown, with the reason
    rows: dict[uuid.UUID, StoredChunk]  # rows of all candidates that were considered
    is_current: bool  # False: a candidate's document was replaced before its row was read


@dataclass(frozen=True, slots=True)
class _Question:
    """The inputs of every attempt at choosing passages."""

    candidates: Sequence[Candidate]
    vectors: Mapping[uuid.UUID, Vector]
    request: SearchRequest
    count_tokens: CountTokens
    rows: dict[uuid.UUID, StoredChunk] = field(default_factory=dict)

    @property
    def form(self) -> ContextFormat:
        return FORMATS[self.request.context_format]

    def fetch(self, candidates: Sequence[Candidate]) -> None:
        new = [c.chunk_id for c in candidates if c.chunk_id not in self.rows]
        self.rows.update(fetch_rows(new))

    def overhead(self, chunk_id: uuid.UUID) -> int:
        """Return the tokens of the chunk's heading. They are counted when needed, because most
        chunks are read and not shown."""
        (tokens,) = self.count_tokens([longest_head(self.form, self.rows[chunk_id])])
        return tokens


def select(
    candidates: Sequence[Candidate],
    vectors: Mapping[uuid.UUID, Vector],
    request: SearchRequest,
    count_tokens: CountTokens,
) -> Selection:
    """Choose the passages to show. Inside namespace()."""
    question = _Question(candidates, vectors, request, count_tokens)
    room = token_budget(request) - question.form.frame_tokens(count_tokens)
    if request.around is not None:
        return _select(question, room, around=request.around)
    return _widest(question, room)


def _widest(question: _Question, room: int) -> Selection:
    """Show as many turns around each passage of a conversation as the budget has room for, found by
    binary search."""
    low, high = 0, len(AROUND)
    while low < high:
        middle = (low + high) // 2
        selection = _select(question, UNLIMITED, around=AROUND[middle])
        if _estimated_tokens(selection, question) <= room:
            low = middle + 1
        else:
            high = middle
    if not low:
        return _select(question, room, around=0)
    return _select(question, UNLIMITED, around=AROUND[low - 1])


def _estimated_tokens(selection: Selection, question: _Question) -> float:
    """Estimate the tokens of widened passages from those of their chunks, a little too high."""
    total = 0.0
    for pick in selection.picks:
        row = selection.rows[pick.candidate.chunk_id]
        per_character = row.tokens / max(1, row.end - row.start)
        length = pick.end - pick.start
        total += MARGIN * length * per_character + question.overhead(pick.candidate.chunk_id)
    return total


def _select(question: _Question, room: int, *, around: int) -> Selection:
    """Consider the first few candidates, and more if those do not yield k passages; with MMR all of
    them, because any may come next."""
    request, candidates, rows = question.request, question.candidates, question.rows
    looked_at = len(candidates) if request.mmr_lambda < 1 else _likely(candidates, request)
    while True:
        likely = candidates[:looked_at]
        question.fetch(likely)
        for candidate in likely:
            candidate.dropped = ""  # by an earlier attempt
        likely = _holding(likely, rows, request)
        picks, dropped = diversify(
            likely,
            rows,
            has_duplicate=NearDuplicates(likely, rows, question.vectors).any_among,
            vectors=question.vectors,
            k=request.k,
            max_per_document=request.max_per_document,
            mmr_lambda=request.mmr_lambda,
            budget=Budget(room, question.overhead),
            merging=merging_for(around),
        )
        is_spent = any(candidate.dropped == "token_budget" for candidate in dropped)
        if len(picks) == request.k or is_spent or looked_at >= len(candidates):
            break
        looked_at *= 3
    if request.expand == "section":
        widen(picks, rows)
    if around:
        widen_by_turns(picks, rows, around)
    is_current = all(candidate.chunk_id in rows for candidate in candidates[:looked_at])
    return Selection(picks, dropped, rows, is_current)


def _holding(
    candidates: Sequence[Candidate],
    rows: Mapping[uuid.UUID, StoredChunk],
    request: SearchRequest,
) -> Sequence[Candidate]:
    """Leave out passages without a turn that meets the request's conditions."""
    if request.turn_conditions is None:
        return candidates
    kept = []
    for candidate in candidates:
        row = rows.get(candidate.chunk_id)
        if row and request.turn_conditions.hold_for_any(row.own_metadata.get("turns", ())):
            kept.append(candidate)
        else:
            candidate.dropped = "turns"
    return kept


def token_budget(request: SearchRequest) -> int:
    return request.token_budget or int(settings.SEARCH["token_budget"])


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
