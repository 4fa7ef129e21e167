"""Diversify results: drop near duplicates, prefer several documents and pages to one, and merge
neighbouring chunks into one passage."""

import math
import uuid
from collections import Counter
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from retrieval.requests import Candidate
from retrieval.stored_chunk import StoredChunk
from retrieval.turns import StoredTurn

from .vectors import Vector

MAX_MERGED = 3  # chunks in one passage


@dataclass(frozen=True, slots=True)
class Merging:
    """Which chunks are merged into one passage: their maximum number, and the distance of their
    ordinals."""

    max_chunks: int = MAX_MERGED
    reach: int = 1


NEIGHBOURS_ONLY = Merging()

# Whether a candidate repeats an earlier one.
HasDuplicate = Callable[[uuid.UUID, Container[uuid.UUID]], bool]


# Fraction of the score that a passage loses for each earlier passage of its document beyond the
# first. A long report may answer from several pages, so there only the same page counts.
DOCUMENT_DISCOUNT = 0.1
MAX_DISCOUNTS = 3
PAGE_DISCOUNT = 0.2


@dataclass(slots=True)
class Pick:
    """A candidate that is shown, and the neighbours merged into its passage."""

    candidate: Candidate
    start: int
    end: int
    merged: list[uuid.UUID] = field(default_factory=list)
    # only of a conversation: the span including the turns around its chunks
    turns: Sequence[StoredTurn] = ()

    @property
    def chunk_ids(self) -> tuple[uuid.UUID, ...]:
        return (self.candidate.chunk_id, *self.merged)


@dataclass(slots=True)
class Taken:
    """The number of passages chosen so far, by document and page."""

    documents: Counter[uuid.UUID] = field(default_factory=Counter)
    pages: Counter[object] = field(default_factory=Counter)

    def add(self, candidate: Candidate, row: StoredChunk) -> None:
        self.documents[candidate.document_id] += 1
        self.pages[candidate.document_id, row.page] += 1

    def is_full(self, candidate: Candidate, max_per_document: int | None) -> bool:
        if max_per_document is None:
            return False
        return self.documents[candidate.document_id] >= max_per_document

    def discount(self, candidate: Candidate, row: StoredChunk) -> float:
        if row.page is not None:
            return PAGE_DISCOUNT if self.pages[candidate.document_id, row.page] else 0.0
        others = self.documents[candidate.document_id] - 1
        return DOCUMENT_DISCOUNT * min(max(others, 0), MAX_DISCOUNTS)


@dataclass(slots=True)
class Budget:
    """Tokens for the context: a passage costs its own tokens and those of its heading."""

    left: int
    overhead: Callable[[uuid.UUID], int] = lambda chunk_id: 0  # tokens of its heading

    def spend(self, chunk_id: uuid.UUID, row: StoredChunk, *, is_new: bool) -> bool:
        cost = row.tokens + (self.overhead(chunk_id) if is_new else 0)
        if cost > self.left:
            return False
        self.left -= cost
        return True


def diversify(
    candidates: Sequence[Candidate],
    rows: Mapping[uuid.UUID, StoredChunk],
    *,
    has_duplicate: HasDuplicate,
    vectors: Mapping[uuid.UUID, Vector],
    k: int,
    max_per_document: int | None,
    mmr_lambda: float,
    budget: Budget,
    merging: Merging = NEIGHBOURS_ONLY,
) -> tuple[list[Pick], list[Candidate]]:
    """Return the best k that add something, and the candidates dropped on the way. Candidates left
    over after k are in neither.

    A neighbour of a passage is merged into it while the budget lasts: better candidates come before
    worse ones, whether they are merged or not.
    """
    picks: dict[uuid.UUID, Pick] = {}
    by_stretch: dict[object, list[Pick]] = {}
    dropped: list[Candidate] = []
    taken = Taken()
    waiting = [candidate for candidate in candidates if candidate.chunk_id in rows]

    def drop(candidate: Candidate, reason: str) -> None:
        candidate.dropped = reason
        dropped.append(candidate)

    while waiting and len(picks) < k:
        nearest = _next(waiting, rows, list(picks.values()), taken, vectors, mmr_lambda)
        candidate = waiting.pop(nearest)
        row = rows[candidate.chunk_id]
        neighbour = _touching(row, by_stretch.get(row.stretch, ()), rows, merging)
        if has_duplicate(candidate.chunk_id, picks) and neighbour is None:
            drop(candidate, "duplicate")
        elif neighbour is None and taken.is_full(candidate, max_per_document):
            drop(candidate, "max_per_document")
        elif not budget.spend(candidate.chunk_id, row, is_new=neighbour is None):
            drop(candidate, "token_budget")
        elif neighbour is not None:
            _merge(neighbour, candidate, rows)
        else:
            taken.add(candidate, row)
            pick = picks[candidate.chunk_id] = Pick(candidate, row.start, row.end)
            by_stretch.setdefault(row.stretch, []).append(pick)
    return list(picks.values()), dropped


def _next(
    waiting: Sequence[Candidate],
    rows: Mapping[uuid.UUID, StoredChunk],
    picks: Sequence[Pick],
    taken: Taken,
    vectors: Mapping[uuid.UUID, Vector],
    mmr_lambda: float,
) -> int:
    """Return the index of the best score after the discount for its document and page. With maximal
    marginal relevance, similarity to the chosen passages is subtracted as well."""
    if not picks:
        return 0
    if mmr_lambda >= 1:
        return _best(waiting, rows, taken)
    scores = [_discounted(candidate, rows, taken) for candidate in waiting]
    known = [n for n, candidate in enumerate(waiting) if candidate.chunk_id in vectors]
    there = np.stack([vectors[pick.candidate.chunk_id] for pick in picks])
    all_scores = [*scores, *(pick.candidate.final for pick in picks)]
    low, high = min(all_scores), max(all_scores)
    width = (high - low) or 1.0  # scales scores to 0…1, like similarities
    gains = [
        mmr_lambda * (scores[n] - low) / width
        - (1 - mmr_lambda) * float(np.max(there @ vectors[waiting[n].chunk_id]))
        for n in known
    ]
    return known[int(np.argmax(gains))] if known else 0


def _best(waiting: Sequence[Candidate], rows: Mapping[uuid.UUID, StoredChunk], taken: Taken) -> int:
    """Candidates are sorted by score and a discount only lowers it, so most need not be checked."""
    best, place = -math.inf, 0
    for n, candidate in enumerate(waiting):
        if candidate.final <= best:
            break
        if (score := _discounted(candidate, rows, taken)) > best:
            best, place = score, n
    return place


def _discounted(candidate: Candidate, rows: Mapping[uuid.UUID, StoredChunk], taken: Taken) -> float:
    share = taken.discount(candidate, rows[candidate.chunk_id])
    return candidate.final - abs(candidate.final) * share


def _touching(
    own: StoredChunk,
    picks: Sequence[Pick],
    rows: Mapping[uuid.UUID, StoredChunk],
    merging: Merging,
) -> Pick | None:
    """Return the pick in the same stretch of text that this chunk overlaps or adjoins."""
    for pick in picks:
        if len(pick.merged) + 1 < merging.max_chunks:
            reach = [rows[chunk_id].ordinal for chunk_id in pick.chunk_ids]
            if min(reach) - merging.reach <= own.ordinal <= max(reach) + merging.reach:
                return pick
    return None


def _merge(pick: Pick, candidate: Candidate, rows: Mapping[uuid.UUID, StoredChunk]) -> None:
    own = rows[candidate.chunk_id]
    pick.start, pick.end = min(pick.start, own.start), max(pick.end, own.end)
    pick.merged.append(candidate.chunk_id)
