"""What every reranker offers, what can go wrong with it, and the check of what it gives."""

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

MAX_TEXT_LENGTH = 20_000  # characters a tokenizer is given; it keeps some hundred tokens of them


@dataclass(frozen=True, slots=True)
class RerankPassage:
    text: str
    similarity: float | None = None  # cosine of query and passage, where it is known


class RerankFailed(ProviderFailed):
    """The passages could not be reranked, by a provider or by a model of our own."""

    code = "rerank_failed"


class RerankTimeout(RerankFailed, ProviderTimeout):
    code = "rerank_timeout"


class RerankBadResponse(RerankFailed, ProviderBadResponse):
    """Something came back that is not one finite score for each passage."""

    code = "rerank_bad_response"


class RerankUnavailable(RerankFailed, ProviderUnavailable):
    """It cannot even be asked: not installed, not reachable, overloaded."""

    code = "rerank_unavailable"


class Reranker(Protocol):
    name: str

    def rerank(
        self, query: str, passages: Sequence[RerankPassage], *, deadline: float
    ) -> list[float]:
        """One score for each passage, higher is better; back by `deadline` (time.monotonic())
        or raising RerankTimeout. Every failure is a RerankFailed."""
        ...

    def warm(self) -> None:
        """Load what is heavy now, so that the first request does not wait for it."""
        ...


def pairs_of(query: str, passages: Sequence[RerankPassage]) -> list[tuple[str, str]]:
    """As tokenizers take them: not endless, and without half surrogate pairs, which they refuse."""
    return [(_readable(query), _readable(passage.text)) for passage in passages]


def _readable(text: str) -> str:
    return text[:MAX_TEXT_LENGTH].encode("utf-8", "replace").decode()


def checked(scores: Sequence[object], count: int) -> list[float]:
    if len(scores) != count:
        raise RerankBadResponse(f"Asked for {count} scores, the reranker gave {len(scores)}.")
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
