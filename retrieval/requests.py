"""What a search is asked and what it answers, shared by every door."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from .filters import NO_FILTERS, Filters

__all__ = ["Candidate", "Diagnostics", "Filters", "Hit", "SearchRequest", "SearchResult"]

Mode = Literal["hybrid", "semantic", "lexical"]
Fusion = Literal["weighted", "rrf"]
Stage = Literal["vector", "lexical", "fused", "rerank", "final"]
Expansion = Literal["none", "section"]

# Where a stage, as the API names it, is called otherwise on a candidate.
_ATTRIBUTES = {"vector": "similarity"}


@dataclass(frozen=True, slots=True)
class SearchRequest:
    query: str
    k: int = 10
    filters: Filters = NO_FILTERS
    mode: Mode = "hybrid"
    fusion: Fusion = "weighted"
    semantic_weight: float = 0.5
    lexical_weight: float = 0.5
    rrf_k: int = 60
    min_relevance: float = 0.0
    thresholds: tuple[tuple[Stage, float], ...] = ()  # lowest score of a stage to go on
    rerank: str = "auto"
    fast: bool = False  # speed before quality: auto never reranks
    max_per_document: int | None = None  # None: several documents are preferred, k comes first
    mmr_lambda: float = 1.0  # 1: by score alone; towards 0: unlike what is there already
    expand: Expansion = "none"
    highlight: bool = False
    token_budget: int | None = None  # None: the setting's
    context_format: str = "plain"  # a name of retrieval.context.assembly.FORMATS
    explain: bool = False
    for_answer: bool = False  # somebody will answer from it: `auto` reranks if it can


@dataclass(slots=True)
class Candidate:
    """A chunk on its way through the stages: each leg and stage writes down what it thinks."""

    chunk_id: uuid.UUID
    document_id: uuid.UUID
    packed: bytes = b""  # its own vector, on the way only: answers are kept, and it is large
    similarity: float | None = None  # cosine
    similarity_normal: float | None = None  # 0…1 among the candidates
    similarity_rank: int | None = None
    lexical: float | None = None  # BM25
    lexical_normal: float | None = None
    lexical_rank: int | None = None
    support: float | None = None  # mean of what its neighbours among the candidates are worth
    fused: float = 0.0
    fused_rank: int = 0
    rerank: float | None = None
    rerank_rank: int | None = None
    relevance: float | None = None  # 0…1 across questions; None: nothing to judge it by
    dropped: str = ""  # why it did not make it into the answer

    @property
    def final(self) -> float:
        return self.fused if self.rerank is None else self.rerank

    def score(self, stage: str) -> float | None:
        """The score that a stage gave, or None if it gave none."""
        score: float | None = getattr(self, _ATTRIBUTES.get(stage, stage))
        return score

    def rank(self, stage: str) -> int | None:
        rank: int | None = getattr(self, f"{_ATTRIBUTES.get(stage, stage)}_rank")
        return rank


@dataclass(frozen=True, slots=True)
class Span:
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage in the answer, with all a client needs to show and to check it."""

    candidate: Candidate
    document_version: int
    title: str
    source_uri: str
    section: str
    page: int | None
    start: int
    end: int
    kind: str
    content: str
    checksum: str
    metadata: Mapping[str, Any]  # the document's
    chunk_metadata: Mapping[str, Any]
    tags: tuple[str, ...]
    language: str
    ordinal: int = 0  # of the chunk in its document
    media_type: str = ""
    created_at: datetime | None = None  # when the document came in
    dated_at: datetime | None = None  # the date it gives itself, else when it came in
    page_end: int | None = None
    tokens: int = 0  # of its chunk, counted when that was indexed
    table_header: str = ""  # of rows whose header stands in another chunk: for reading, not cited
    uncounted: str = ""  # what stands before and after the chunk in a passage put together
    highlights: tuple[Span, ...] = ()  # in the document's text, like start and end
    merged: tuple[uuid.UUID, ...] = ()  # neighbours that became one passage with it

    @property
    def relevance(self) -> float | None:
        return self.candidate.relevance

    @property
    def collection(self) -> str | None:
        """As the document's metadata names it."""
        name = self.metadata.get("collection")
        return name if isinstance(name, str) else None


@dataclass(frozen=True, slots=True)
class TermMatch:
    """A word of the question in a candidate, and what it adds to its BM25 score."""

    term: str
    score: float


@dataclass(frozen=True, slots=True)
class Explanation:
    candidate: Candidate
    terms: tuple[TermMatch, ...]


@dataclass(frozen=True, slots=True)
class Diagnostics:
    profile: str
    mode: Mode
    fusion: Fusion
    ann_k: int
    lexical_k: int
    dense_plan: str
    reranker: str
    fallbacks: tuple[str, ...]
    notes: tuple[str, ...]  # what a person should know about the question
    dropped: tuple[Mapping[str, Any], ...]
    times_ms: Mapping[str, float] = field(default_factory=dict)
    is_explained: bool = False  # only then is there anything in the following
    filters: Mapping[str, Any] = field(default_factory=dict)
    terms: tuple[Mapping[str, Any], ...] = ()
    candidates: tuple[Explanation, ...] = ()


@dataclass(frozen=True, slots=True)
class SearchResult:
    query: str
    hits: tuple[Hit, ...]
    context: str
    context_tokens: int
    diagnostics: Diagnostics
    relevance: float | None = 0.0  # of the best hit
    cache: Literal["hit", "miss"] = "miss"
