"""What a search is asked and what it answers: frozen values, shared by every door."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from .filters import NO_FILTERS
from .filters import Filters as Filters  # also from here: it is a part of every request

Mode = Literal["hybrid", "semantic", "lexical"]
Fusion = Literal["rrf", "weighted"]


@dataclass(frozen=True, slots=True)
class SearchRequest:
    query: str
    k: int = 10
    filters: Filters = NO_FILTERS
    mode: Mode = "hybrid"
    fusion: Fusion = "rrf"
    semantic_weight: float = 0.5
    lexical_weight: float = 0.5
    threshold: float | None = None  # on the final score
    max_per_document: int = 2
    token_budget: int | None = None  # None: the setting's
    explain: bool = False


@dataclass(frozen=True, slots=True)
class Candidate:
    """A chunk on its way through the stages: what each leg and stage thought of it."""

    chunk_id: uuid.UUID
    document_id: uuid.UUID
    vector: float | None = None  # cosine similarity
    vector_rank: int | None = None
    lexical: float | None = None
    lexical_rank: int | None = None
    fused: float = 0.0
    fused_rank: int = 0
    dropped: str = ""  # why it did not make it into the answer


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
    tokens: int
    chunk_hash: str
    metadata: Mapping[str, Any]
    tags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Diagnostics:
    profile: str
    mode: Mode
    ann_k: int
    lexical_k: int
    fallbacks: tuple[str, ...]
    dense_plan: str
    times_ms: Mapping[str, float]
    dropped: tuple[Mapping[str, Any], ...]
    candidates: tuple[Candidate, ...] = ()  # with explain only


@dataclass(frozen=True, slots=True)
class SearchResult:
    query: str
    hits: tuple[Hit, ...]
    context: str
    context_tokens: int
    diagnostics: Diagnostics
