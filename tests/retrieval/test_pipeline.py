"""The stages together, through the API: cache, rerank, explain, expansion, and parts that fail."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, ClassVar

import orjson
import pytest
from django.core.cache import caches
from django.db import connections

from documents.models import Namespace
from ragsite.platform import metrics
from ragsite.platform.backends import load_backend
from retrieval import reranking
from retrieval import search as pipeline
from retrieval.cache.codec import encoded, search_result
from retrieval.requests import Filters, SearchRequest

from ..client import Api
from ..threads import at_once


@pytest.fixture(autouse=True)
def empty_caches():
    for alias in ("results", "queries"):
        caches[alias].clear()


def diagnostics(api: Api, question: str, **options: Any) -> dict[str, Any]:
    answer = api.query(question, **options)
    assert answer.status == 200, answer.body
    return answer.body["diagnostics"]


def test_the_same_question_is_answered_from_the_cache_until_something_changes(
    library: Api, work: Callable[[], int]
):
    first = library.query("when do boats leave?").body
    again = library.query("when do boats leave?").body
    assert first["diagnostics"]["cache"] == "miss"
    assert again["diagnostics"]["cache"] == "hit"
    assert again["results"] == first["results"]
    assert diagnostics(library, "when do boats leave?", k=3)["cache"] == "miss"
    library.upload(("new.md", "# News\n\nBoats leave at noon now."))
    work()
    changed = library.query("when do boats leave?").body
    assert changed["diagnostics"]["cache"] == "miss"
    assert "News" in str(changed["results"])


def test_a_result_comes_back_from_json_as_it_was(library: Api, tenant: Namespace):
    filters = Filters(tags=("coast",), date_from=datetime(2019, 1, 1, tzinfo=UTC))
    request = SearchRequest(
        "lamp boats", explain=True, highlight=True, expand="section", filters=filters
    )
    result = pipeline.search(tenant.pk, request)
    again = search_result(orjson.loads(encoded("key", result) or b"")[1])
    shown = again.diagnostics.filters
    assert shown == {"tags": ["coast"], "date_from": filters.date_from}
    assert result.hits
    assert result.hits[0].highlights
    assert result.diagnostics.candidates
    same = replace(again.diagnostics, filters=result.diagnostics.filters)
    assert replace(again, diagnostics=same) == result


def test_retagging_empties_the_cache_too(library: Api):
    filters = {"tags": ["late"]}
    assert library.query("boats", filters=filters).body["results"] == []
    (document,) = [d for d in library.get("documents").body["results"] if "Harbour" in d["title"]]
    library.patch(f"documents/{document['id']}", {"tags": ["late"]})
    assert library.query("boats", filters=filters).body["results"]


def test_one_tenant_never_gets_anothers_answer(
    library: Api, other_tenant: Namespace, api_of: Callable[..., Api]
):
    assert library.query("boats").body["results"]
    body = api_of(other_tenant).query("boats").body
    assert (body["results"], body["diagnostics"]["cache"]) == ([], "miss")


def test_an_answer_with_a_fallback_is_not_kept(library: Api, settings: Any):
    broken = {"BACKEND": "tests.retrieval.broken.BrokenEmbedder"}
    whole = settings.EMBEDDERS
    settings.EMBEDDERS = {**whole, "hashing": broken}
    load_backend.cache_clear()
    try:
        assert diagnostics(library, "boats")["fallbacks"]
    finally:
        settings.EMBEDDERS = whole
        load_backend.cache_clear()
    mended = diagnostics(library, "boats")
    assert (mended["fallbacks"], mended["cache"]) == ([], "miss")


@pytest.mark.parametrize("others", [True, False])
def test_documents_replaced_in_the_middle_of_a_search_make_it_look_again(
    library: Api, work: Callable[[], int], monkeypatch: pytest.MonkeyPatch, others: bool
):
    """The chunks found are gone before they are read: not an empty answer, but another look. Also
    where all of them are gone, because there are no other documents."""
    if not others:
        for document in library.get("documents").body["results"]:
            if not document["source_uri"].endswith("harbour.md"):
                assert library.delete(f"documents/{document['id']}").status == 200
    found = pipeline.find_candidates
    replaced = threading.Event()

    def replace(_: int) -> None:
        replaced.set()
        library.upload(("harbour.md", "# Trade\n\nFishing boats leave at midnight."))
        work()

    def and_then_replace(*args: Any) -> Any:
        legs = found(*args)
        if not replaced.is_set():
            at_once(1, replace)  # not in this thread, which has a transaction open
        return legs

    monkeypatch.setattr(pipeline, "find_candidates", and_then_replace)
    body = library.query("fishing boats").body
    assert replaced.is_set()
    assert body["results"][0]["content"].endswith("Fishing boats leave at midnight.")
    assert body["results"][0]["document_version"] == 2


def test_cosine_reranks_by_similarity_and_every_stage_shows(library: Api):
    body = library.query("the lamp turned", rerank="cosine", explain=True).body
    assert body["diagnostics"]["reranker"] == "cosine"
    scores = [hit["scores"] for hit in body["results"]]
    assert [s["rerank"] for s in scores] == sorted((s["rerank"] for s in scores), reverse=True)
    assert all(s["final"] == s["rerank"] == pytest.approx(s["vector"], abs=1e-4) for s in scores)
    assert body["results"][0]["ranks"]["rerank"] == 1


def test_a_reranker_that_is_not_set_up_is_refused_by_name(library: Api):
    answer = library.query("lamp", rerank="cross-encoder")
    assert (answer.status, answer.code) == (422, "reranker_not_configured")
    assert diagnostics(library, "lamp", rerank="auto")["reranker"] == "none"


def test_a_broken_reranker_leaves_the_fused_order_and_says_so(library: Api, settings: Any):
    plain = library.query("the lamp turned").body["results"]
    settings.RERANKERS = {"remote": {"BACKEND": "tests.retrieval.broken.BrokenReranker"}}
    load_backend.cache_clear()
    body = library.query("the lamp turned", rerank="remote").body
    load_backend.cache_clear()
    assert body["diagnostics"]["fallbacks"] == ["fused_order: rerank_failed"]
    assert [hit["chunk_id"] for hit in body["results"]] == [hit["chunk_id"] for hit in plain]


class Recording:
    """Notes what it was asked to read, and whether a transaction was open meanwhile."""

    name = "llm"
    calls: ClassVar[list[tuple[list[str], bool]]] = []

    def rerank(self, query: str, passages: Any, *, deadline: float) -> list[float]:
        texts = [passage.text for passage in passages]
        self.calls.append((texts, connections["default"].in_atomic_block))
        return [1.0 - n / 100 for n in range(len(passages))]


@pytest.fixture
def recording(settings: Any) -> Iterator[list[tuple[list[str], bool]]]:
    settings.RERANKERS = {"llm": {"BACKEND": f"{__name__}.Recording"}}
    load_backend.cache_clear()
    Recording.calls.clear()
    yield Recording.calls
    load_backend.cache_clear()


def test_a_reranker_reads_the_passages_outside_of_transactions(
    library: Api, tenant: Namespace, recording: list[tuple[list[str], bool]]
):
    result = pipeline.search(tenant.pk, SearchRequest("the lamp turned", rerank="llm"))
    ((texts, in_transaction),) = recording
    assert result.diagnostics.reranker == "llm"
    assert texts
    assert all(texts)
    assert not in_transaction


def test_a_pause_that_ends_in_the_middle_of_a_search_changes_nothing(
    library: Api,
    tenant: Namespace,
    recording: list[tuple[list[str], bool]],
    monkeypatch: pytest.MonkeyPatch,
):
    """The reranker is chosen once: chosen anew after the candidates were found, it would be given
    passages without their texts, inside a transaction."""

    class Pausing:
        answers: ClassVar[list[bool]] = [True, False]

        @property
        def is_open(self) -> bool:
            return self.answers.pop(0)

        def worked(self) -> None:
            return None

    monkeypatch.setattr(reranking, "_breaker", lambda name: Pausing())
    request = SearchRequest("What is the difference between a lamp and a boat?")
    result = pipeline.search(tenant.pk, request)
    assert recording == []
    assert result.diagnostics.fallbacks == ("fused_order: rerank_unavailable",)


def test_explain_shows_raw_and_normalised_scores_ranks_words_filters_and_fate(library: Api):
    told = diagnostics(
        library,
        "lamp boats bread",
        explain=True,
        max_per_document=1,
        filters={"tags": ["coast"]},
    )
    assert told["filters"]["tags"] == ["coast"]
    assert {term["term"] for term in told["terms"]} >= {"lamp", "boat", "bread"}
    assert all(term["weight"] > 0 for term in told["terms"])
    best = told["candidates"][0]
    assert set(best["scores"]) == {"vector", "lexical", "fused", "rerank", "boost", "final"}
    normal = best["normalised"]
    assert best["scores"]["fused"] == pytest.approx((normal["vector"] + normal["lexical"]) / 2)
    assert best["ranks"]["fused"] == 1
    assert best["terms"][0]["score"] > 0
    assert {c["dropped"] for c in told["candidates"]} >= {"", "max_per_document"}
    fates = diagnostics(library, "lamp boats bread", explain=True, k=1)["candidates"]
    assert "beyond_k" in {c["dropped"] for c in fates}
    assert [c["dropped"] for c in fates].count("") == 1


@pytest.fixture
def tides(api: Api, work: Callable[[], int]) -> Api:
    """More notes than a passage has neighbours."""
    notes = {
        f"{n}.txt": f"Note {n}. High tide at {n} o'clock, low {'water ' * n}" for n in range(14)
    }
    api.upload(*notes.items())
    assert work() == len(notes)
    return api


def test_explain_shows_what_the_neighbours_of_a_candidate_add(tides: Api):
    candidates = diagnostics(tides, "high water", explain=True)["candidates"]
    assert len(candidates) == 14
    for told in candidates:
        own = (told["normalised"]["vector"] + told["normalised"]["lexical"]) / 2
        assert 0 < told["support"] < 1
        assert told["scores"]["fused"] == pytest.approx(0.8 * own + 0.2 * told["support"])


@pytest.mark.parametrize(
    "options",
    [
        {"mode": "lexical"},
        {"mode": "semantic"},
        {"fusion": "rrf"},
        {"weights": {"semantic": 0, "lexical": 1}},
    ],
)
def test_the_order_of_one_leg_or_of_ranks_stays_as_it_is(tides: Api, options: dict[str, Any]):
    candidates = diagnostics(tides, "high water", explain=True, **options)["candidates"]
    assert {told["support"] for told in candidates} == {None}


@pytest.mark.parametrize("stage", ["vector", "lexical", "fused", "final"])
def test_a_threshold_is_on_the_stage_it_names(library: Api, stage: str):
    hits = library.query("the lamp turned", max_per_document=9).body["results"]
    scores = sorted(hit["scores"][stage] for hit in hits)
    least = scores[len(scores) // 2]
    body = library.query("the lamp turned", max_per_document=9, threshold={stage: least}).body
    assert body["results"]
    assert all(hit["scores"][stage] >= least for hit in body["results"])
    if scores[0] < least:
        reasons = {entry["reason"] for entry in body["diagnostics"]["dropped"]}
        assert f"threshold: {stage}" in reasons


def test_a_hit_can_be_widened_to_its_section(library: Api):
    plain = library.query("tower granite rock keepers", k=1).body["results"][0]
    body = library.query("tower granite rock keepers", k=1, expand="section").body
    wide = body["results"][0]
    text = library.get(f"documents/{wide['document_id']}/text").body["text"]
    span = wide["span"]
    assert wide["content"] == text[span["start"] : span["end"]]
    assert span["start"] <= plain["span"]["start"] < plain["span"]["end"] <= span["end"]
    assert len(wide["content"]) > len(plain["content"])
    assert wide["content"].startswith("# Building")
    assert "## Turning" in wide["content"]
    assert body["citations"][0]["span"] == span


def test_mmr_and_fast_are_taken(library: Api):
    assert library.query("lamp boats", mmr_lambda=0.5, fast=True).status == 200


def test_a_question_without_a_word_is_told_so(library: Api):
    for question in ("???", "-- <-> !", "🙂"):
        body = library.query(question).body
        assert body["results"] == []
        assert body["diagnostics"]["notes"][0].startswith("no_words")
    assert diagnostics(library, "lamp?")["notes"] == []


def test_fallbacks_are_counted(library: Api, settings: Any):
    counter = metrics.SEARCH_FALLBACKS.labels("lexical_only")._value
    before = counter.get()
    settings.EMBEDDERS = {
        **settings.EMBEDDERS,
        "hashing": {"BACKEND": "tests.retrieval.broken.BrokenEmbedder"},
    }
    load_backend.cache_clear()
    library.query("boats")
    load_backend.cache_clear()
    assert counter.get() == before + 1


def test_copies_are_told_once_and_look_alikes_are_not_copies(api: Api, work: Callable[[], int]):
    text = "The invoice for the lighthouse oil came by the morning boat to the quay. " * 2
    bill = "# Bill\n\nInvoice {0}00{0} of the harbour, {0}2 barrels, {0}70 crowns."
    api.upload(
        ("one.md", f"# Oil\n\n{text}"),
        ("two.md", f"# Oil\n\n{text.upper()}"),
        ("bill3.md", bill.format(3)),
        ("bill4.md", bill.format(4)),
    )
    work()
    body = api.query("invoice").body
    sources = [hit["source_uri"] for hit in body["results"]]
    assert ("upload:one.md" in sources) != ("upload:two.md" in sources)
    assert {"upload:bill3.md", "upload:bill4.md"} <= set(sources)
    assert "duplicate" in {entry["reason"] for entry in body["diagnostics"]["dropped"]}
