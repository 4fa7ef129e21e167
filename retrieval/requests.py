"""The values that a search accepts and returns, for all callers."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from documents.memory.rules.scope import FactScope

from .filters import NO_FILTERS, Filters
from .turns import TurnConditions

__all__ = ["Candidate", "Diagnostics", "Filters", "Hit", "SearchRequest", "SearchResult"]

Mode = Literal["hybrid", "semantic", "lexical"]
Fusion = Literal["weighted", "rrf"]
ThresholdStage = Literal["vector", "lexical", "fused", "rerank", "final"]
Expansion = Literal["none", "section"]

# Stages whose name in the API differs from the candidate's attribute.
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
    thresholds: tuple[tuple[ThresholdStage, float], ...] = ()  # (stage, minimum score)
    rerank: str = "auto"
    fast: bool = False  # `auto` never reranks
    max_per_document: int | None = None  # None: prefer several documents, but fill k
    mmr_lambda: float = 1.0  # 1: by score alone; lower: prefer passages unlike those chosen
    expand: Expansion = "none"
    highlight: bool = False
    token_budget: int | None = None  # None: as configured
    context_format: str = "plain"  # a name of retrieval.context.assembly.FORMATS
    explain: bool = False
    # Turns shown on each side of a passage of a conversation; None: as many as the budget holds.
    around: int | None = 0
    # conditions on the turns in a passage of a conversation
    turn_conditions: TurnConditions | None = None
    speakers: tuple[str, ...] = ()  # names in the query that are not embedded with it
    for_answer: bool = False  # used to write an answer: `auto` reranks if it can
    facts: FactScope | None = None  # which facts to put among the passages; None: none
    feedback_boost: bool = False  # feedback on similar questions moves passages


@dataclass(slots=True)
class Candidate:
    """A chunk on its way through the stages; each leg and stage adds its score and rank."""

    chunk_id: uuid.UUID
    document_id: uuid.UUID
    packed: bytes = b""  # its vector; removed from results, because they are cached and it is large
    similarity: float | None = None  # cosine
    similarity_normal: float | None = None  # 0…1 among the candidates
    similarity_rank: int | None = None
    lexical: float | None = None  # BM25
    lexical_normal: float | None = None
    lexical_rank: int | None = None
    support: float | None = None  # weighted mean score of the candidates most like it
    fused: float = 0.0
    fused_rank: int = 0
    rerank: float | None = None
    rerank_rank: int | None = None
    boost: float | None = None  # added to its score by feedback; None: nothing
    votes: tuple[Mapping[str, Any], ...] = ()  # the votes behind the boost, if explained
    relevance: float | None = None  # 0…1, comparable between questions; None: unknown
    dropped: str = ""  # why it is not among the hits; "" if it is

    @property
    def final(self) -> float:
        return (self.fused if self.rerank is None else self.rerank) + (self.boost or 0.0)

    def score(self, stage: str) -> float | None:
        """The score of a stage, or None."""
        score: float | None = getattr(self, _ATTRIBUTES.get(stage, stage))
        return score

    def rank(self, stage: str) -> int | None:
        rank: int | None = getattr(self, f"{_ATTRIBUTES.get(stage, stage)}_rank")
        return rank


@dataclass(frozen=True, slots=True)
class Highlight:
    """A span of the document's text to highlight."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage that was found, with everything a client needs to show and verify it."""

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
    created_at: datetime | None = None  # when the document was first ingested
    dated_at: datetime | None = None  # the document's own date, else created_at
    page_end: int | None = None
    tokens: int = 0  # of its chunks, counted at ingestion
    table_header: str = ""  # for table rows whose header is in another chunk; shown, not cited
    uncounted: str = ""  # text around the chunks that `tokens` does not count
    highlights: tuple[Highlight, ...] = ()  # in the document's text, like start and end
    collections: tuple[str, ...] = ()  # that its document is in, by name, else id
    merged: tuple[uuid.UUID, ...] = ()  # neighbouring chunks that are part of the passage
    # Of a fact from memory, as JSON: its parts, validity and provenances.
    fact: Mapping[str, Any] | None = None

    @property
    def relevance(self) -> float | None:
        return self.candidate.relevance

    @property
    def collection(self) -> str | None:
        """The `collection` of the document's metadata, else the first that it is in."""
        name = self.metadata.get("collection")
        if isinstance(name, str):
            return name
        return self.collections[0] if self.collections else None


@dataclass(frozen=True, slots=True)
class TermMatch:
    """A word of the question that a candidate contains, and its share of the BM25 score."""

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
    notes: tuple[str, ...]  # remarks about the question
    dropped: tuple[Mapping[str, Any], ...]
    times_ms: Mapping[str, float] = field(default_factory=dict)
    is_explained: bool = False  # if False, the fields below are empty
    filters: Mapping[str, Any] = field(default_factory=dict)
    terms: tuple[Mapping[str, Any], ...] = ()
    candidates: tuple[Explanation, ...] = ()
    facts: tuple[Mapping[str, Any], ...] = ()  # the factors of each fact's score


@dataclass(frozen=True, slots=True)
class SearchResult:
    query: str
    hits: tuple[Hit, ...]
    context: str
    context_tokens: int
    diagnostics: Diagnostics
    relevance: float | None = 0.0  # of the best hit
    cache: Literal["hit", "miss"] = "miss"
