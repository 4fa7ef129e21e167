"""Not ten times the same: twins out, few chunks of one document, neighbours as one passage."""

import uuid
from collections import Counter
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from .requests import Candidate
from .rows import Row
from .vectors import Vector

LONGEST_MERGE = 3  # chunks in one passage

HasTwin = Callable[[uuid.UUID, Container[uuid.UUID]], bool]  # a candidate, those before it


@dataclass(slots=True)
class Pick:
    """A candidate that stays, and the neighbours that became one passage with it."""

    candidate: Candidate
    start: int
    end: int
    merged: list[uuid.UUID] = field(default_factory=list)


def diversify(
    candidates: Sequence[Candidate],
    rows: Mapping[uuid.UUID, Row],
    *,
    has_twin: HasTwin,
    vectors: Mapping[uuid.UUID, Vector],
    k: int,
    max_per_document: int,
    mmr_lambda: float,
) -> tuple[list[Pick], list[Candidate]]:
    """(the best k that add something, what was dropped on the way and why). What is left over
    after k is neither."""
    picks: dict[uuid.UUID, Pick] = {}
    by_stretch: dict[object, list[Pick]] = {}
    dropped: list[Candidate] = []
    seen: Counter[uuid.UUID] = Counter()
    waiting = [candidate for candidate in candidates if candidate.chunk_id in rows]
    while waiting and len(picks) < k:
        candidate = waiting.pop(_next(waiting, list(picks.values()), vectors, mmr_lambda))
        row = rows[candidate.chunk_id]
        if neighbour := _touching(row, by_stretch.get(row.stretch, ()), rows):
            _merge(neighbour, candidate, rows)
        elif has_twin(candidate.chunk_id, picks):
            candidate.dropped = "duplicate"
            dropped.append(candidate)
        elif seen[candidate.document_id] >= max_per_document:
            candidate.dropped = "max_per_document"
            dropped.append(candidate)
        else:
            seen[candidate.document_id] += 1
            pick = picks[candidate.chunk_id] = Pick(candidate, row.start, row.end)
            if row.stretch is not None:
                by_stretch.setdefault(row.stretch, []).append(pick)
    return list(picks.values()), dropped


def _next(
    waiting: Sequence[Candidate],
    picks: Sequence[Pick],
    vectors: Mapping[uuid.UUID, Vector],
    mmr_lambda: float,
) -> int:
    """Maximal marginal relevance: a good score, less the likeness to what is there already."""
    if mmr_lambda >= 1 or not picks:
        return 0
    known = [n for n, candidate in enumerate(waiting) if candidate.chunk_id in vectors]
    there = np.stack([vectors[pick.candidate.chunk_id] for pick in picks])
    scores = [c.final for c in (*waiting, *(pick.candidate for pick in picks))]
    low, width = min(scores), (max(scores) - min(scores)) or 1.0  # likeness is 0…1, so must they be
    gains = [
        mmr_lambda * (candidate.final - low) / width
        - (1 - mmr_lambda) * float(np.max(there @ vectors[candidate.chunk_id]))
        for candidate in (waiting[n] for n in known)
    ]
    return known[int(np.argmax(gains))] if known else 0


def _touching(own: Row, picks: Sequence[Pick], rows: Mapping[uuid.UUID, Row]) -> Pick | None:
    """The pick of the same running text that this one overlaps with or stands right beside."""
    for pick in picks:
        if len(pick.merged) + 1 < LONGEST_MERGE:
            whole = (pick.candidate.chunk_id, *pick.merged)
            reach = [rows[chunk_id].ordinal for chunk_id in whole]
            if min(reach) - 1 <= own.ordinal <= max(reach) + 1:
                return pick
    return None


def _merge(pick: Pick, candidate: Candidate, rows: Mapping[uuid.UUID, Row]) -> None:
    own = rows[candidate.chunk_id]
    pick.start, pick.end = min(pick.start, own.start), max(pick.end, own.end)
    pick.merged.append(candidate.chunk_id)
