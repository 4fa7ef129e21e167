"""The interface of rerankers, their errors, and the check of their scores."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from documents.providers.errors import (
    ProviderBadResponse,
    ProviderFailed,
    ProviderTimeout,
    ProviderUnavailable,
)

MAX_TEXT_LENGTH = 20_000  # characters passed to a tokenizer, which uses a few hundred tokens


@dataclass(frozen=True, slots=True)
class Standing:
    """A passage's ranks and scores before reranking, and facts about its document."""

    lexical: float | None = None  # BM25; None: that leg did not run
    vector_rank: int | None = None  # None: that leg did not find it
    lexical_rank: int | None = None
    fused: float = 0.0
    fused_rank: int = 0
    title: str = ""
    section: str = ""
    age_days: float | None = None  # since the document's own date, else since it was ingested


@dataclass(frozen=True, slots=True)
class RerankPassage:
    text: str
    similarity: float | None = None  # cosine of query and passage, if known
    standing: Standing | None = None  # only for rerankers that read it


Passage = RerankPassage  # the old name, until 0.2.0, for custom rerankers that import it


class RerankFailed(ProviderFailed):
    """The passages could not be reranked, by a provider or a local model."""

    code = "rerank_failed"


class RerankTimeout(RerankFailed, ProviderTimeout):
    code = "rerank_timeout"


class RerankBadResponse(RerankFailed, ProviderBadResponse):
    """The response is not one finite score per passage."""

    code = "rerank_bad_response"


class RerankUnavailable(RerankFailed, ProviderUnavailable):
    """Not installed, not reachable, or overloaded."""

    code = "rerank_unavailable"


class Reranker(Protocol):
    name: str

    def rerank(
        self, query: str, passages: Sequence[RerankPassage], *, deadline: float
    ) -> list[float]:
        """Return one score per passage; higher is better. Returns by `deadline` (time.monotonic())
        or raises RerankTimeout. Every failure is a RerankFailed."""
        ...

    def warm(self) -> None:
        """Load the model now, so that the first request does not wait for it."""
        ...


def pairs_of(query: str, passages: Sequence[RerankPassage]) -> list[tuple[str, str]]:
    """Return pairs for a tokenizer: truncated, and without lone surrogates, which it rejects."""
    return [(_readable(query), _readable(passage.text)) for passage in passages]


def _readable(text: str) -> str:
    return text[:MAX_TEXT_LENGTH].encode("utf-8", "replace").decode()


def checked(scores: Sequence[object], count: int) -> list[float]:
    if len(scores) != count:
        raise RerankBadResponse(f"Asked for {count} scores, the reranker returned {len(scores)}.")
    return [finite(score) for score in scores]


def finite(score: object) -> float:
    if isinstance(score, bool) or not isinstance(score, int | float):
        raise RerankBadResponse("A score is not a number.")
    try:
        number = float(score)
    except OverflowError:  # an integer of four hundred digits
        number = math.inf
    if not math.isfinite(number):
        raise RerankBadResponse("A score is not a finite number.")
    return number
