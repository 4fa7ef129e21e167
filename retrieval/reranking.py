"""Decide whether and how to rerank the best candidates, and handle failures."""

import logging
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, get_args

from django.conf import settings

from documents.language_models.base import LanguageModel, LanguageModelCostCap
from documents.metering.language_models import book_usage, require_room
from ragsite.platform import metrics
from ragsite.platform.backends import load_backend
from ragsite.platform.breaker import Breaker
from ragsite.platform.errors import ApiError
from ragsite.platform.spans import span
from ragsite.web.threads import release_connections
from retrieval.rerankers.auto import Decision, Situation, Speed, decide
from retrieval.rerankers.base import (
    Reranker,
    RerankFailed,
    RerankPassage,
    RerankUnavailable,
    checked,
)
from retrieval.rerankers.learned import LearnedReranker
from retrieval.rerankers.llm import LlmReranker

from .learned import learned_models

logger = logging.getLogger(__name__)

Choice = Literal["auto", "none", "cosine", "cross-encoder", "remote", "llm", "learned"]
CHOICES: tuple[Choice, ...] = get_args(Choice)
AUTO_ORDER = ("cross-encoder", "remote", "llm")  # `auto` uses the first that is configured
FAILURES, PAUSE_SECONDS = 3, 60.0  # after this many in a row `auto` pauses a reranker


@dataclass(frozen=True, slots=True)
class ChosenReranker:
    name: str  # "none" if none is used
    reason: str  # "named", or the rule in rerankers/auto.py
    fallback: str = ""

    @property
    def reads_passages(self) -> bool:
        """Whether it needs the texts of passages, and time outside of a transaction."""
        return self.name not in ("none", "cosine")

    @property
    def reads_standing(self) -> bool:
        """Whether it needs the ranks and scores of the earlier stages."""
        return self.name == "learned"


@dataclass(frozen=True, slots=True)
class Reranked:
    reranker: str  # "none" without scores
    scores: tuple[float, ...] | None  # of the first RERANK_TOP passages, in their order
    reason: str
    fallback: str = ""  # e.g. "fused_order: rerank_timeout"
    ms: float = 0.0


def choose(
    query: str, *, choice: str = "auto", speed: Speed = "balanced", for_answer: bool = False
) -> ChosenReranker:
    """Decide once per search, because a breaker may open or close between two calls. Raises
    ApiError for a reranker that is not configured."""
    if choice == "none":
        return ChosenReranker("none", "named")
    if choice != "auto":
        _require(choice)
        return ChosenReranker(choice, "named")
    name = next((name for name in AUTO_ORDER if name in settings.RERANKERS), "none")
    decision: Decision = decide(Situation(query, name != "none", speed, for_answer))
    if not decision.reranks:
        return ChosenReranker("none", decision.reason)
    if _breaker(name).is_open:
        return ChosenReranker("none", decision.reason, _fallback(RerankUnavailable.code))
    return ChosenReranker(name, decision.reason)


def rerank(
    query: str,
    passages: Sequence[RerankPassage],
    chosen: ChosenReranker,
    *,
    deadline_ms: float | None = None,
    namespace_id: uuid.UUID | None = None,
) -> Reranked:
    """Return scores for the best passages, or the fallback: a reranker never fails a search.

    The usage of a language model is booked to the namespace.
    """
    head = passages[: settings.RERANK["top"]]
    if chosen.name == "none" or not head:
        return Reranked("none", None, chosen.reason, chosen.fallback)
    started = time.monotonic()
    budget = settings.RERANK["deadline_ms"] if deadline_ms is None else deadline_ms
    try:
        with span(f"rag.reranker.{chosen.name}", passages=len(head), namespace=namespace_id):
            scores = _scores(chosen.name, query, head, started + budget / 1000, namespace_id)
    except RerankFailed as error:
        _breaker(chosen.name).failed()
        metrics.RERANKER_CALLS.labels(chosen.name, error.code).inc()
        fields = {"reranker": chosen.name, "code": error.code, "ms": _since(started)}
        logger.warning("rerank.fallback", extra=fields, exc_info=True)
        return Reranked("none", None, chosen.reason, _fallback(error.code), _since(started))
    _breaker(chosen.name).worked()
    metrics.RERANKER_CALLS.labels(chosen.name, "ok").inc()
    return Reranked(chosen.name, tuple(scores), chosen.reason, ms=_since(started))


def warm() -> None:
    """Load the local models before the first request needs them."""
    for name in settings.RERANKERS:
        try:
            _load(name).warm()
        except Exception:
            logger.exception("reranker.warm_failed", extra={"reranker": name})


def _require(choice: str) -> None:
    if choice in settings.RERANKERS:
        return
    available = ["auto", "none", *settings.RERANKERS]
    raise ApiError(
        "reranker_not_configured",
        f"The reranker {choice!r} is not set up here; there are {', '.join(available)}.",
        http_status=422,
        details={"available": available},
    )


def _scores(
    name: str,
    query: str,
    passages: Sequence[RerankPassage],
    deadline: float,
    namespace_id: uuid.UUID | None,
) -> list[float]:
    reranker = _load(name)
    try:
        if isinstance(reranker, LlmReranker) and namespace_id is not None:
            scores = _paid_scores(reranker, query, passages, deadline, namespace_id)
        elif isinstance(reranker, LearnedReranker) and namespace_id is not None:
            own = LearnedReranker(learned_models.find(namespace_id))
            scores = own.rerank(query, passages, deadline=deadline)
        else:
            scores = reranker.rerank(query, passages, deadline=deadline)
    except RerankFailed:
        raise
    except Exception as error:  # a user's own backend may raise anything
        raise RerankFailed(f"The reranker {name} failed.") from error
    return checked(scores, len(passages))


def _paid_scores(
    reranker: LlmReranker,
    query: str,
    passages: Sequence[RerankPassage],
    deadline: float,
    namespace_id: uuid.UUID,
) -> list[float]:
    try:
        require_room(reranker.language_model, namespace_id)
    except LanguageModelCostCap as error:
        raise RerankUnavailable(str(error)) from None
    release_connections()  # none is held while the model runs
    scores, usage = reranker.rerank_metered(query, passages, deadline=deadline)
    book_usage(reranker.language_model, namespace_id, usage)
    return scores


def llm_by_alias(model: str, **options: Any) -> LlmReranker:
    """Return the reranker `llm` with a model of settings.LANGUAGE_MODELS."""
    language_model = load_backend("LANGUAGE_MODELS", model)
    if not isinstance(language_model, LanguageModel):
        raise ValueError(f"{model} is no language model")
    return LlmReranker(model=language_model, **options)


def _load(name: str) -> Reranker:
    try:
        reranker: Reranker = load_backend("RERANKERS", name)
    except Exception as error:  # a missing package, a folder without a model, a misspelt setting
        raise RerankUnavailable(f"The reranker {name} cannot be loaded.") from error
    return reranker


@cache
def _breaker(name: str) -> Breaker:
    return Breaker(failures=FAILURES, pause=PAUSE_SECONDS)


def _fallback(code: str) -> str:
    return f"fused_order: {code}"


def _since(started: float) -> float:
    return round((time.monotonic() - started) * 1000, 2)
