"""Choosing a reranker, and going on without one that does not work."""

import json
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from typing import Any

import pytest

from documents.models import LanguageModelUsage, Namespace
from ragsite.database.tenancy import namespace
from ragsite.platform.backends import load_backend
from ragsite.platform.breaker import Breaker
from ragsite.platform.errors import ApiError
from ragsite.settings.rerank import LLM_BY_ALIAS
from retrieval import reranking
from retrieval.rerankers import RerankPassage
from retrieval.reranking import choose

from .. import chat_server
from ..rerank_server import provider

PASSAGES = [
    RerankPassage("one lamp", 0.2),
    RerankPassage("two kilns", 0.9),
    RerankPassage("three boats", 0.1),
]
COMPLEX = "What is the difference between a kiln and an oven?"


def rerank(query: str, passages: Any, deadline_ms: float | None = None, **options: Any) -> Any:
    namespace_id = options.pop("namespace_id", None)
    chosen = choose(query, **options)
    return reranking.rerank(
        query, passages, chosen, deadline_ms=deadline_ms, namespace_id=namespace_id
    )


class Odd:
    """Someone's own backend: gives, or raises, what it was made with."""

    name = "llm"

    def __init__(self, outcome: Any) -> None:
        self.outcome = outcome

    def rerank(self, query: str, passages: Sequence[RerankPassage], *, deadline: float) -> Any:
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome

    def warm(self) -> None:
        raise OSError("no model")


@pytest.fixture
def site() -> Iterator[str]:
    with provider() as address:
        yield address


@pytest.fixture
def configure(settings: Any) -> Iterator[Callable[..., None]]:
    def configured(**rerankers: Any) -> None:
        entries = {name.replace("_", "-"): entry for name, entry in rerankers.items()}
        settings.RERANKERS = {"cosine": settings.RERANKERS["cosine"], **entries}
        load_backend.cache_clear()
        reranking._breaker.cache_clear()

    configured()
    yield configured
    load_backend.cache_clear()
    reranking._breaker.cache_clear()


def remote(url: str) -> dict[str, Any]:
    return {"BACKEND": "retrieval.rerankers.remote.RemoteReranker", "OPTIONS": {"url": url}}


def odd(outcome: Any) -> dict[str, Any]:
    return {"BACKEND": f"{__name__}.Odd", "OPTIONS": {"outcome": outcome}}


def test_scores_come_in_the_order_of_the_passages(configure: Callable, site: str):
    configure(remote=remote(f"{site}/good"))
    done = rerank("two kilns", PASSAGES, choice="remote")
    assert (done.reranker, done.fallback, done.reason) == ("remote", "", "named")
    assert done.scores == (0.0, 1.0, 0.0)
    assert done.ms > 0


def test_cosine_needs_no_configuration(configure: Callable):
    assert rerank("kiln", PASSAGES, choice="cosine").scores == (0.2, 0.9, 0.1)


def test_only_the_best_candidates_are_reranked(configure: Callable, settings: Any):
    settings.RERANK = {**settings.RERANK, "top": 2}
    assert rerank("kiln", PASSAGES, choice="cosine").scores == (0.2, 0.9)


def test_none_means_none(configure: Callable, site: str):
    configure(remote=remote(f"{site}/good"))
    done = rerank(COMPLEX, PASSAGES, choice="none", for_answer=True)
    assert (done.reranker, done.scores, done.fallback) == ("none", None, "")


@pytest.mark.parametrize("choice", ["cross-encoder", "remote", "llm", "nonsense"])
def test_a_reranker_that_is_not_there_is_refused(configure: Callable, choice: str):
    with pytest.raises(ApiError) as caught:
        rerank("kiln", PASSAGES, choice=choice)
    assert (caught.value.code, caught.value.status_code) == ("reranker_not_configured", 422)
    assert caught.value.details == {"available": ["auto", "none", "cosine"]}


def test_auto_asks_nobody_when_nothing_is_configured(configure: Callable):
    assert choose(COMPLEX, for_answer=True).reason == "no_reranker"


def test_auto_takes_the_local_model_before_a_remote_one(configure: Callable, site: str):
    configure(llm=odd([]), remote=remote(site), cross_encoder=odd([]))
    assert choose(COMPLEX).name == "cross-encoder"
    assert choose("Where is the kiln?").name == "none"
    assert choose(COMPLEX, speed="fast").name == "none"


@pytest.mark.parametrize(
    ("behaviour", "code"),
    [
        ("broken", "rerank_failed"),
        ("busy", "rerank_unavailable"),
        ("hang", "rerank_timeout"),
        ("body-drip", "rerank_timeout"),
        ("cut", "rerank_failed"),
        ("html", "rerank_bad_response"),
        ("missing-index", "rerank_bad_response"),
        ("nan", "rerank_bad_response"),
    ],
)
def test_a_reranker_that_fails_leaves_the_fused_order_and_says_so(
    configure: Callable, site: str, behaviour: str, code: str
):
    configure(remote=remote(f"{site}/{behaviour}"))
    done = rerank(COMPLEX, PASSAGES, deadline_ms=700)
    assert (done.reranker, done.scores) == ("none", None)
    assert done.fallback == f"fused_order: {code}"


@pytest.mark.parametrize(
    ("outcome", "code"),
    [
        ([0.1], "rerank_bad_response"),
        ([0.1, 0.2, float("inf")], "rerank_bad_response"),
        ([0.1, 0.2, None], "rerank_bad_response"),
        (KeyError("bug"), "rerank_failed"),
    ],
)
def test_someones_own_backend_cannot_break_a_search(configure: Callable, outcome: Any, code: str):
    configure(llm=odd(outcome))
    assert rerank("kiln", PASSAGES, choice="llm").fallback == f"fused_order: {code}"


def test_a_backend_that_cannot_be_made_is_unavailable(configure: Callable):
    configure(llm={"BACKEND": "no.such.Reranker"})
    done = rerank("kiln", PASSAGES, choice="llm")
    assert done.fallback == "fused_order: rerank_unavailable"


def test_auto_leaves_a_reranker_alone_that_keeps_failing(configure: Callable):
    configure(llm=odd(TimeoutError()))
    for _ in range(reranking.FAILURES):
        assert rerank(COMPLEX, PASSAGES).fallback == "fused_order: rerank_failed"
    assert choose(COMPLEX).name == "none"
    assert rerank(COMPLEX, PASSAGES).fallback == "fused_order: rerank_unavailable"
    assert rerank(COMPLEX, PASSAGES, choice="llm").fallback == "fused_order: rerank_failed"


def test_warming_survives_a_model_that_is_not_there(configure: Callable):
    configure(llm=odd([]))
    reranking.warm()


def test_a_breaker_opens_after_failures_in_a_row_and_closes_after_its_pause():
    now = [0.0]
    breaker = Breaker(failures=2, pause=10, clock=lambda: now[0])
    breaker.failed()
    breaker.worked()
    breaker.failed()
    assert not breaker.is_open
    breaker.failed()
    assert breaker.is_open
    now[0] = 10.0
    assert not breaker.is_open
    breaker.failed()
    assert breaker.is_open
    breaker.worked()
    assert not breaker.is_open


# -- a language model ------------------------------------------------------------------


def grades(messages: list[dict[str, str]]) -> str:
    count = messages[-1]["content"].count(" passage ")
    return json.dumps({"scores": {str(n): 100 - n for n in range(1, count + 1)}})


@pytest.fixture
def chat(settings: Any, configure: Callable[..., None]) -> Iterator[chat_server.Site]:
    """A server whose model is known by the alias `judge`, and grades passages."""
    with chat_server.provider() as server:
        server.reply_with(grades)
        options = {"url": server.url("normal"), "model": "m", "price_in": 1.0, "price_out": 1.0}
        backend = "documents.language_models.openai.OpenAIModel"
        settings.LANGUAGE_MODELS = {
            **settings.LANGUAGE_MODELS,
            "judge": {"BACKEND": backend, "OPTIONS": options},
        }
        configure(llm={"BACKEND": LLM_BY_ALIAS, "OPTIONS": {"model": "judge"}})
        yield server


def by_llm(tenant: Namespace | None = None) -> reranking.Reranked:
    namespace_id = tenant.pk if tenant else None
    return rerank("q", PASSAGES, choice="llm", deadline_ms=5000, namespace_id=namespace_id)


def test_a_model_by_its_alias_reranks_and_is_booked(chat: chat_server.Site, tenant: Namespace):
    assert by_llm(tenant).scores == (0.99, 0.98, 0.97)
    assert chat.last.body["response_format"] == {"type": "json_object"}
    with namespace(tenant.pk):
        row = LanguageModelUsage.objects.get()
    assert (row.model_identity, row.calls) == ("openai/m", 1)
    assert row.prompt_tokens > 50
    assert row.cost == Decimal(row.prompt_tokens + row.completion_tokens) / 1_000_000


def test_nobody_pays_where_no_namespace_is_known(chat: chat_server.Site):
    assert by_llm().reranker == "llm"


def test_a_used_up_budget_leaves_the_fused_order(
    chat: chat_server.Site, tenant: Namespace, settings: Any
):
    settings.LANGUAGE_MODEL_CAPS = {"month_tokens": 10, "month_cost": 0.0}
    assert by_llm(tenant).reranker == "llm"
    assert by_llm(tenant).fallback == "fused_order: rerank_unavailable"
    assert len(chat.requests) == 1


def test_an_alias_that_is_not_there_leaves_the_fused_order(configure: Callable[..., None]):
    configure(llm={"BACKEND": LLM_BY_ALIAS, "OPTIONS": {"model": "nobody"}})
    assert by_llm().fallback == "fused_order: rerank_unavailable"
