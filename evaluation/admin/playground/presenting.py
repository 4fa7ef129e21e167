"""A search's result as the page shows it: passages, dropped candidates, timings, and the
differences between the two sides."""

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from documents.models import Chunk
from evaluation.admin.stages import in_pipeline_order
from retrieval.requests import Candidate, Explanation, Hit, SearchResult

from .reasons import sentence_of

STAGES = (
    ("similarity", "vector"),
    ("lexical", "words"),
    ("fused", "fused"),
    ("rerank", "rerank"),
    ("relevance", "relevance"),
)
DROPPED_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Bar:
    """A stage's score: `share` is its length, from 0 to 100."""

    stage: str
    score: float | None
    rank: int | None
    share: float


@dataclass(frozen=True, slots=True)
class Piece:
    text: str
    is_marked: bool


@dataclass(slots=True)
class ShownPassage:
    rank: int
    hit: Hit
    pieces: list[Piece]
    bars: list[Bar]
    terms: tuple[str, ...]
    other_rank: int | None = None  # the rank on the other side
    is_only_here: bool = False

    @property
    def moved(self) -> int:
        """Return by how many ranks it is higher than on the other side."""
        return (self.other_rank or self.rank) - self.rank


@dataclass(frozen=True, slots=True)
class Dropped:
    chunk_id: uuid.UUID
    document_id: uuid.UUID
    title: str
    section: str
    reason: str
    bars: list[Bar]


@dataclass(frozen=True, slots=True)
class TimeShare:
    stage: str
    ms: float
    start: float  # percent of the whole
    width: float
    number: int  # decides its colour


@dataclass(slots=True)
class Side:
    """One configuration's results."""

    name: str
    result: SearchResult
    passages: list[ShownPassage]
    dropped: list[Dropped]
    dropped_in_all: int
    times: list[TimeShare]
    total_ms: float

    @property
    def more_dropped(self) -> int:
        return self.dropped_in_all - len(self.dropped)


def present(name: str, result: SearchResult) -> Side:
    """Prepare one side. Inside operator(), because the names of dropped chunks are read."""
    explained = result.diagnostics.candidates
    highest = _highest(explained)
    terms = {one.candidate.chunk_id: one.terms for one in explained}
    passages = [
        ShownPassage(
            rank,
            hit,
            list(_pieces(hit)),
            _bars(hit.candidate, highest),
            tuple(match.term for match in terms.get(hit.candidate.chunk_id, ())),
        )
        for rank, hit in enumerate(result.hits, start=1)
    ]
    gone = [one.candidate for one in explained if one.candidate.dropped]
    gone.sort(key=lambda candidate: candidate.rerank_rank or candidate.fused_rank or 10**9)
    times = dict(result.diagnostics.times_ms)
    total = times.pop("total", sum(times.values()))
    return Side(
        name,
        result,
        passages,
        _dropped(gone[:DROPPED_SHOWN], highest),
        len(gone),
        list(_times(times)),
        total,
    )


def compare(one: Side, other: Side) -> None:
    """Set each passage's rank on the other side."""
    for here, there in ((one, other), (other, one)):
        for passage in here.passages:
            passage.other_rank = next(
                (p.rank for p in there.passages if _same_place(p.hit, passage.hit)), None
            )
            passage.is_only_here = passage.other_rank is None


def _same_place(one: Hit, other: Hit) -> bool:
    return (
        one.candidate.document_id == other.candidate.document_id
        and one.start < other.end
        and other.start < one.end
    )


def _pieces(hit: Hit) -> Iterator[Piece]:
    """Return the passage, cut at its highlights."""
    at = 0
    for span in hit.highlights:
        start, end = max(at, span.start - hit.start), span.end - hit.start
        if start > at:
            yield Piece(hit.content[at:start], is_marked=False)
        if end > start:
            yield Piece(hit.content[start:end], is_marked=True)
        at = max(at, end)
    if at < len(hit.content):
        yield Piece(hit.content[at:], is_marked=False)


def _highest(explained: Sequence[Explanation]) -> dict[str, float]:
    """Return the best score of each stage among all candidates, which gets a bar of full length. A
    stage without scores is left out."""
    scores = {
        attribute: [
            score for one in explained if (score := getattr(one.candidate, attribute)) is not None
        ]
        for attribute, _ in STAGES
    }
    return {attribute: max(found) for attribute, found in scores.items() if found}


def _bars(candidate: Candidate, highest: Mapping[str, float]) -> list[Bar]:
    return [
        Bar(
            label,
            getattr(candidate, attribute),
            getattr(candidate, f"{attribute}_rank", None) or None,
            _share(
                getattr(candidate, attribute),
                1.0 if attribute == "relevance" else highest[attribute],
            ),
        )
        for attribute, label in STAGES
        if attribute in highest
    ]


def _share(score: float | None, most: float) -> float:
    if score is None or most <= 0:
        return 0.0
    return round(100 * min(1.0, max(0.0, score / most)), 1)


def _dropped(candidates: Sequence[Candidate], highest: Mapping[str, float]) -> list[Dropped]:
    ids = [candidate.chunk_id for candidate in candidates]
    chunks = Chunk.objects.select_related("document").only(
        "section", "document__title", "document__source_uri"
    )
    found = chunks.in_bulk(ids)
    shown = []
    for candidate in candidates:
        chunk = found.get(candidate.chunk_id)
        shown.append(
            Dropped(
                candidate.chunk_id,
                candidate.document_id,
                str(chunk.document) if chunk else "a deleted document",
                chunk.section if chunk else "",
                sentence_of(candidate.dropped),
                _bars(candidate, highest),
            )
        )
    return shown


def _times(times: Mapping[str, float]) -> Iterator[TimeShare]:
    """Return the times of the stages, one after the other. Some overlap, so their sum is not the
    total."""
    whole = sum(times.values()) or 1.0
    at = 0.0
    for number, (stage, ms) in enumerate(in_pipeline_order(times)):
        width = 100 * ms / whole
        yield TimeShare(stage, ms, round(at, 2), round(width, 2), number % 6)
        at += width
