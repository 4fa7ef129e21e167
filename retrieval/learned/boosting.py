"""The learned boost: passages that were useful for similar questions move up a little, and those
that were not move down.

A stage of the search, after reranking, for searches that request it. It is bounded, fades with the
age of the feedback, and moves only candidates that the search has found.
"""

import uuid
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from documents.models import Chunk
from retrieval.requests import Candidate
from retrieval.search_context import SearchContext

MAX_BOOST = 0.2  # of the range of the candidates' scores
HALF_LIFE_DAYS = 90.0
MIN_SIMILARITY = 0.6  # cosine of two questions; feedback on less similar ones is ignored
DOCUMENT_SHARE = 0.3  # weight of a vote for the rest of the passage's document


@dataclass(frozen=True, slots=True)
class Vote:
    """One piece of feedback on one passage."""

    feedback_id: uuid.UUID
    similarity: float  # of its question to this one; 1: the same
    age_days: float
    value: float  # above 0: useful
    document_id: uuid.UUID
    chunk_id: uuid.UUID
    quote: str

    @property
    def strength(self) -> float:
        near = (self.similarity - MIN_SIMILARITY) / (1 - MIN_SIMILARITY)
        return self.value * min(max(near, 0.0), 1.0) * 0.5 ** (self.age_days / HALF_LIFE_DAYS)


class VoteSource(Protocol):
    """Provides the votes. The app above this one stores the feedback, and calls `use`."""

    def similar(
        self,
        namespace_id: uuid.UUID,
        profile_id: uuid.UUID,
        question: str,
        vector: Sequence[float] | None,
    ) -> Sequence[Vote]:
        """Return the votes of questions with at least MIN_SIMILARITY to this one; without a vector,
        those of the same question. Inside namespace()."""

    def state(self, namespace_id: uuid.UUID) -> str:
        """Return a text that changes whenever `similar` may return another result."""


_sources: list[VoteSource] = []


def use(source: VoteSource) -> None:
    _sources[:] = [source]


def state(context: SearchContext) -> str:
    """Return what cached results depend on besides the namespace's content."""
    if not context.request.feedback_boost or not _sources:
        return ""
    return _sources[0].state(context.namespace_id)


def boosted(
    context: SearchContext, candidates: Sequence[Candidate], vector: Sequence[float] | None
) -> list[Candidate]:
    """Return the candidates in their new order. Inside namespace()."""
    if not context.request.feedback_boost or not candidates or not _sources:
        return list(candidates)
    with context.clock("boost"):
        index = context.index
        votes = _sources[0].similar(
            index.namespace_id, index.profile.pk, context.request.query, vector
        )
        by_document: dict[uuid.UUID, list[Vote]] = defaultdict(list)
        for vote in votes:
            by_document[vote.document_id].append(vote)
        concerned = [c for c in candidates if c.document_id in by_document]
        contents = _contents(concerned)
        counted = {
            candidate.chunk_id: _counted(
                by_document[candidate.document_id],
                candidate.chunk_id,
                contents.get(candidate.chunk_id, ""),
            )
            for candidate in concerned
        }
        return reordered(candidates, counted, keep_votes=context.request.explain)


def reordered(
    candidates: Sequence[Candidate],
    counted: Mapping[uuid.UUID, Sequence[tuple[Vote, float]]],
    *,
    keep_votes: bool = False,
) -> list[Candidate]:
    """Add each candidate's boost to its score. Candidates that a reranker scored stay ahead of the
    others, whose scores are not comparable."""
    parts = [
        [c for c in candidates if c.rerank is not None],
        [c for c in candidates if c.rerank is None],
    ]
    order: list[Candidate] = []
    for part in parts:
        scores = [candidate.final for candidate in part]
        spread = max(scores) - min(scores) if scores else 0.0
        for candidate in part:
            votes = counted.get(candidate.chunk_id, ())
            if share := boost_of([strength for _, strength in votes]):
                candidate.boost = share * spread
            if keep_votes:
                candidate.votes = tuple(_shown(vote, strength) for vote, strength in votes)
        # A stable sort: equal candidates keep their order.
        order += sorted(part, key=lambda candidate: -candidate.final)
    return order


def boost_of(strengths: Sequence[float]) -> float:
    """Return a share of the range of scores: half of MAX_BOOST for one fresh vote on the same
    question, never more than MAX_BOOST for any number of them."""
    total = sum(strengths)
    return MAX_BOOST * total / (1 + abs(total))


def _counted(votes: Sequence[Vote], chunk_id: uuid.UUID, content: str) -> list[tuple[Vote, float]]:
    """Return the votes that affect a passage, with the weight of each."""
    found = []
    for vote in votes:
        is_same = vote.chunk_id == chunk_id or vote.quote in content or content in vote.quote
        share = 1.0 if is_same else DOCUMENT_SHARE if vote.value > 0 else 0.0
        if strength := share * vote.strength:
            found.append((vote, strength))
    return found


def _contents(candidates: Sequence[Candidate]) -> dict[uuid.UUID, str]:
    """Passages are recognised by their text: ids and positions change with each version."""
    ids = [candidate.chunk_id for candidate in candidates]
    return dict(Chunk.objects.filter(pk__in=ids).values_list("pk", "content")) if ids else {}


def _shown(vote: Vote, strength: float) -> Mapping[str, Any]:
    return {
        "feedback_id": str(vote.feedback_id),
        "similarity": round(vote.similarity, 4),
        "age_days": round(vote.age_days, 2),
        "value": vote.value,
        "strength": round(strength, 4),
    }
