"""Show the turns around a passage of a conversation."""

import uuid
from collections.abc import Mapping, Sequence

from documents.chunking.turns import STRIDE
from documents.models import DocumentVersion
from retrieval.ranking.diversity import MAX_MERGED, NEIGHBOURS_ONLY, Merging, Pick
from retrieval.stored_chunk import StoredChunk
from retrieval.turns import StoredTurn


def merging_for(around: int) -> Merging:
    """Merge a chunk within reach of the turns around an earlier passage into that passage: shown
    separately, it would add little."""
    if not around:
        return NEIGHBOURS_ONLY
    reach = 1 + around // STRIDE
    return Merging(max_chunks=MAX_MERGED + 2 * reach, reach=reach)


def widen_by_turns(picks: Sequence[Pick], rows: Mapping[uuid.UUID, StoredChunk], by: int) -> None:
    """Widen each pick by this many turns on each side, but not into another passage, so that no
    turn is shown twice. Better passages come first. Inside namespace()."""
    by_version: dict[uuid.UUID, list[Pick]] = {}
    for pick in picks:
        by_version.setdefault(rows[pick.candidate.chunk_id].version_id, []).append(pick)
    outlines = DocumentVersion.objects.filter(pk__in=by_version).values_list("pk", "outline__turns")
    for version_id, turns in outlines:
        for pick in by_version[version_id] if turns else ():
            others = [other for other in by_version[version_id] if other is not pick]
            _widen(pick, turns, others, by)


def _widen(pick: Pick, turns: Sequence[StoredTurn], others: Sequence[Pick], by: int) -> None:
    inside = [n for n, turn in enumerate(turns) if _overlap(turn, pick)]
    first, last = inside[0], inside[-1]
    while first > 0 and inside[0] - first < by and _is_free(turns[first - 1], others):
        first -= 1
    while last + 1 < len(turns) and last - inside[-1] < by and _is_free(turns[last + 1], others):
        last += 1
    pick.turns = turns[first : last + 1]
    if first < inside[0]:
        pick.start = turns[first]["start"]
    if last > inside[-1]:
        pick.end = turns[last]["end"]


def _is_free(turn: StoredTurn, others: Sequence[Pick]) -> bool:
    return not any(_overlap(turn, other) for other in others)


def _overlap(turn: StoredTurn, pick: Pick) -> bool:
    return bool(turn["start"] < pick.end and turn["end"] > pick.start)
