"""Whether the best candidates are read again, by which reranker — and what if it does not work."""

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
from ragsite.platform.backends import load_backend
from ragsite.platform.breaker import Breaker
from ragsite.platform.errors import ApiError
from ragsite.web.threads import release_connections
from retrieval.rerankers.auto import Decision, Situation, Speed, decide
from retrieval.rerankers.base import (
    Reranker,
    RerankFailed,
    RerankPassage,
    RerankUnavailable,
    checked,
)
from retrieval.rerankers.llm import LlmReranker

logger = logging.getLogger(__name__)

Choice = Literal["auto", "none", "cosine", "cross-encoder", "remote", "llm"]
CHOICES: tuple[Choice, ...] = get_args(Choice)
BY_AUTO = ("cross-encoder", "remote", "llm")  # the first that is configured
FAILURES, PAUSE_SECONDS = 3, 60.0  # in a row; then `auto` leaves a reranker alone


@dataclass(frozen=True, slots=True)
class Chosen:
    reranker: str  # "none" if nobody is asked
    reason: str  # "named", or the line of the table in rerankers/auto.py
    fallback: str = ""


@dataclass(frozen=True, slots=True)
class Reranked:
    reranker: str  # who gave the scores; "none" if nobody did
    scores: tuple[float, ...] | None  # of the first RERANK_TOP passages, in their order
    reason: str
    fallback: str = ""  # "fused_order: rerank_timeout" and the like
    ms: float = 0.0


def choose(
    query: str, *, choice: str = "auto", speed: Speed = "balanced", for_answer: bool = False
) -> Chosen:
    """Cheap, and refuses a reranker that is not there: ask before the candidates are read."""
    if choice == "none":
        return Chosen("none", "named")
    if choice != "auto":
        _require(choice)
        return Chosen(choice, "named")
    name = next((name for name in BY_AUTO if name in settings.RERANKERS), "none")
    decision: Decision = decide(Situation(query, name != "none", speed, for_answer))
    if not decision.reranks:
        return Chosen("none", decision.reason)
    if _breaker(name).is_open:
        return Chosen("none", decision.reason, _fallback(RerankUnavailable.code))
    return Chosen(name, decision.reason)


def rerank(
    query: str,
    passages: Sequence[RerankPassage],
    *,
    choice: str = "auto",
    speed: Speed = "balanced",
    for_answer: bool = False,
    deadline_ms: float | None = None,
    namespace_id: uuid.UUID | None = None,
) -> Reranked:
    """Scores for the best passages, or none and the reason: a reranker never fails a search.

    What a language model takes for it is booked to the namespace.
    """
    chosen = choose(query, choice=choice, speed=speed, for_answer=for_answer)
    head = passages[: settings.RERANK["top"]]
    if chosen.reranker == "none" or not head:
        return Reranked("none", None, chosen.reason, chosen.fallback)
    started = time.monotonic()
    budget = settings.RERANK["deadline_ms"] if deadline_ms is None else deadline_ms
    try:
        scores = _scores(chosen.reranker, query, head, started + budget / 1000, namespace_id)
    except RerankFailed as error:
        _breaker(chosen.reranker).failed()
        fields = {"reranker": chosen.reranker, "code": error.code, "ms": _since(started)}
        logger.warning("rerank.fallback", extra=fields, exc_info=True)
        return Reranked("none", None, chosen.reason, _fallback(error.code), _since(started))
    _breaker(chosen.reranker).worked()
    return Reranked(chosen.reranker, tuple(scores), chosen.reason, ms=_since(started))


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
        else:
            scores = reranker.rerank(query, passages, deadline=deadline)
    except RerankFailed:
        raise
    except Exception as error:  # a backend of someone's own, with errors of its own
        raise RerankFailed(f"The reranker {name} broke.") from error
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
    release_connections()  # none is held while the model reads
    scores, usage = reranker.rerank_metered(query, passages, deadline=deadline)
    book_usage(reranker.language_model, namespace_id, usage)
    return scores


def llm_by_alias(model: str, **options: Any) -> LlmReranker:
    """The reranker `llm` with a model of settings.LANGUAGE_MODELS."""
    language_model = load_backend("LANGUAGE_MODELS", model)
    if not isinstance(language_model, LanguageModel):
        raise ValueError(f"{model} is no language model")
    return LlmReranker(model=language_model, **options)


def _load(name: str) -> Reranker:
    try:
        reranker: Reranker = load_backend("RERANKERS", name)
    except Exception as error:  # a missing package, a folder without a model, a misspelt setting
        raise RerankUnavailable(f"The reranker {name} cannot be made.") from error
    return reranker


@cache
def _breaker(name: str) -> Breaker:
    return Breaker(failures=FAILURES, pause=PAUSE_SECONDS)


def _fallback(code: str) -> str:
    return f"fused_order: {code}"


def _since(started: float) -> float:
    return round((time.monotonic() - started) * 1000, 2)
