"""POST /query, as the contract has it."""

import hashlib
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from documents.models import Namespace
from ragsite.platform.backends import load_backend

from ..client import Api


def titles(api: Api, question: str, **options: Any) -> list[str]:
    answer = api.query(question, **options)
    assert answer.status == 200, answer.body
    return [hit["title"] for hit in answer.body["results"]]


def test_a_hit_says_where_it_stands_and_slices_back_to_the_text(library: Api):
    body = library.query("how often did the lamp turn?").body
    for hit, citation in zip(body["results"], body["citations"], strict=True):
        text = library.get(f"documents/{hit['document_id']}/text").body["text"]
        span = hit["span"]
        assert text[span["start"] : span["end"]] == hit["content"]
        assert citation["span"] == span
        assert citation["chunk_id"] == hit["chunk_id"]
        assert citation["checksum"] == hashlib.sha256(hit["content"].encode()).hexdigest()
        assert f"[{citation['id']}]" in body["context"]["text"]
    best = body["results"][0]
    assert best["section"] == "Building > The lamp"
    assert (best["kind"], best["document_version"]) == ("text", 1)
    assert best["tags"] == ["coast", "history"]
    assert best["metadata"]["author"] == {"name": "Ada", "team": "keepers"}


def test_metadata_of_document_and_passage_are_apart_and_what_is_shown_can_be_filtered(library: Api):
    best = library.query("how often did the lamp turn?").body["results"][0]
    document = library.get(f"documents/{best['document_id']}").body
    assert best["metadata"] == document["metadata"]
    assert best["chunk_metadata"]["heading_path"] == ["Building", "The lamp"]
    assert "heading_path" not in best["metadata"]
    for key, value in best["metadata"].items():
        filters = {"metadata": {key: value}}
        found = library.query("how often did the lamp turn?", filters=filters).body["results"]
        assert best["chunk_id"] in [hit["chunk_id"] for hit in found], key
        nobody = {"metadata": {key: {"$exists": False}}}
        found = library.query("how often did the lamp turn?", filters=nobody).body["results"]
        assert best["chunk_id"] not in [hit["chunk_id"] for hit in found], key


def test_the_answer_has_every_field_of_the_contract(library: Api):
    body = library.query("boats").body
    assert set(body) == {
        "query_id",
        "query",
        "relevance",
        "results",
        "context",
        "citations",
        "diagnostics",
    }
    hit = body["results"][0]
    assert set(hit["scores"]) == {"vector", "lexical", "fused", "rerank", "boost", "final"}
    assert set(hit["ranks"]) == {"vector", "lexical", "fused", "rerank"}
    diagnostics = body["diagnostics"]
    assert {"profile", "mode", "ann_k", "lexical_k", "reranker", "fallbacks", "cache"} < set(
        diagnostics
    )
    assert {"embed", "vector", "lexical", "read", "assemble", "total"} <= set(
        diagnostics["times_ms"]
    )


def test_one_shared_word_of_many_is_enough(library: Api):
    found = titles(library, "do I perhaps need some pilot when arriving tonight?", mode="lexical")
    assert found[0] == "The Harbour"


def test_identifiers_are_found_as_typed_and_by_their_parts(library: Api):
    assert titles(library, "ERR_CONN_42", mode="lexical") == ["The Harbour"]
    assert titles(library, "conn", mode="lexical") == ["The Harbour"]
    assert titles(library, "turn_lamp", mode="lexical", max_per_document=1) == ["The Lighthouse"]


def test_the_title_counts_although_it_is_not_in_the_passage(library: Api):
    assert titles(library, "lighthouse", mode="lexical", max_per_document=1) == ["The Lighthouse"]


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"tags": ["trade"]}, {"The Harbour"}),
        ({"tags": ["trade", "history"]}, {"The Harbour", "The Lighthouse"}),
        ({"tags": ["nothing"]}, set()),
        ({"source_types": ["txt"]}, {"kitchen.txt"}),
        ({"date_range": ["2021-01-01", "2022-01-15"]}, {"The Harbour"}),
        ({"date_range": [None, "2020-05-01"]}, {"The Lighthouse"}),
        ({"date_range": ["2023-01-01", None]}, {"kitchen.txt"}),
        ({"metadata": {"author": {"name": "Ada"}}}, {"The Lighthouse"}),
        ({"metadata": {"author": "Ada"}}, set()),
        ({"tags": ["coast"], "date_range": ["2021-01-01", None]}, {"The Harbour"}),
    ],
)
@pytest.mark.parametrize("mode", ["semantic", "lexical", "hybrid"])
def test_filters_hold_for_both_legs_alike(
    library: Api, mode: str, filters: dict[str, Any], expected: set[str]
):
    question = "tower lamp boats harbour pilot bread dough the ten"
    assert set(titles(library, question, mode=mode, filters=filters)) == expected


def test_the_document_filter_takes_ids(library: Api):
    ids = {d["title"]: d["id"] for d in library.get("documents").body["results"]}
    wanted = [ids["The Harbour"], ids["kitchen.txt"]]
    found = titles(library, "the lamp boats bread", filters={"document_ids": wanted})
    assert set(found) == {"The Harbour", "kitchen.txt"}


def test_a_document_fills_k_unless_a_limit_is_asked_for(library: Api, work: Callable[[], int]):
    words = [" ".join(f"stone{n}x{i}" for i in range(90)) for n in range(3)]
    parts = "\n\n".join(f"# Part {n}\n\nGranite tower {text}" for n, text in enumerate(words))
    library.upload(("towers.md", f"---\ntitle: Towers\n---\n{parts}"))
    work()
    question = "tower granite"
    assert titles(library, question).count("Towers") >= 3
    assert titles(library, question, max_per_document=1).count("Towers") == 1
    assert titles(library, question, max_per_document=2).count("Towers") == 2
    dropped = library.query(question, max_per_document=2).body["diagnostics"]["dropped"]
    assert "max_per_document" in {entry["reason"] for entry in dropped}


def test_the_token_budget_cuts_the_lowest_score_first_and_says_so(library: Api):
    whole = library.query("lamp boats bread", max_per_document=9).body
    budget = whole["context"]["tokens"] - 1
    cut = library.query("lamp boats bread", max_per_document=9, token_budget=budget).body
    assert 0 < cut["context"]["tokens"] <= budget
    assert cut["results"] != whole["results"]
    assert cut["results"][0] == whole["results"][0]
    assert "token_budget" in {entry["reason"] for entry in cut["diagnostics"]["dropped"]}
    assert len(cut["citations"]) == len(cut["results"])


def test_a_threshold_drops_by_final_score(library: Api):
    scores = [h["scores"]["final"] for h in library.query("the lamp turned").body["results"]]
    kept = library.query("the lamp turned", threshold=scores[0]).body["results"]
    assert [hit["scores"]["final"] for hit in kept] == [s for s in scores if s >= scores[0]]


def test_explain_lists_every_candidate_with_its_fate(library: Api):
    body = library.query("lamp boats bread", max_per_document=1, explain=True).body
    candidates = body["diagnostics"]["candidates"]
    assert len(candidates) >= len(body["results"])
    assert {c["dropped"] for c in candidates} == {"", "max_per_document"}
    assert "candidates" not in library.query("lamp").body["diagnostics"]


def test_weighted_fusion_honours_its_weights(library: Api):
    only_words = library.query(
        "boats", fusion="weighted", weights={"semantic": 0, "lexical": 1}
    ).body["results"]
    assert only_words[0]["ranks"]["lexical"] == 1


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"query": ""},
        {"query": "   "},
        {"query": "x" * 4001},
        {"query": 5.5, "k": 0},
        {"query": "x", "k": 101},
        {"query": "x", "mode": "psychic"},
        {"query": "x", "fusion": "cold"},
        {"query": "x", "unknown": 1},
        {"query": "x", "filters": {"colour": "red"}},
        {"query": "x", "filters": {"document_ids": ["no-uuid"]}},
        {"query": "x", "filters": {"date_range": ["2022-01-01"]}},
        {"query": "x", "filters": {"date_range": ["2022-13-01", None]}},
        {"query": "x", "filters": {"date_range": ["2023-01-01", "2022-01-01"]}},
        {"query": "x", "filters": {"metadata": ["list"]}},
        {"query": "x", "weights": {"semantic": 0, "lexical": 0}},
        {"query": "x", "weights": {"semantic": 2, "lexical": 0}},
        {"query": "x", "rerank": "tarot"},
        {"query": "x", "threshold": {"mood": 1}},
        {"query": "x", "threshold": "high"},
        {"query": "x", "mmr_lambda": 2},
        {"query": "x", "expand": "book"},
        {"query": "nul \x00"},
        {"query": "lone \ud800"},
    ],
)
def test_a_question_that_makes_no_sense_is_refused_with_the_field(api: Api, body: dict[str, Any]):
    answer = api.post("query", body)
    assert (answer.status, answer.code) == (422, "invalid_request")
    assert answer.body["error"]["details"]["fields"][0]["field"] or body == []


@pytest.mark.parametrize(
    "question",
    [
        "???",
        "C++ | & ! ( ) : *",
        "'; DROP TABLE x; --",
        "a:b",
        "\\",
        "<->",
        "🙂",
        "灯塔",
        "naïve v2.1",
    ],
)
def test_any_text_is_a_question_never_a_query_language(library: Api, question: str):
    for mode in ("hybrid", "semantic", "lexical"):
        assert library.query(question, mode=mode).status == 200


def test_nothing_indexed_means_nothing_found(api: Api):
    body = api.query("anything").body
    assert (body["results"], body["citations"]) == ([], [])
    assert body["context"] == {"text": "", "tokens": 0}


def test_a_search_costs_the_same_number_of_statements_for_one_hit_as_for_many(library: Api):
    def statements(k: int) -> int:
        with CaptureQueriesContext(connection) as captured:
            body = library.query("lamp boats bread the ten", k=k, max_per_document=9).body
        assert len(body["results"]) >= min(k, 5)
        return len(captured)

    library.query("warm up")  # the key's last use is written once a minute
    assert statements(1) == statements(10)


def test_a_broken_embedder_leaves_the_words_and_says_so(
    library: Api, settings: Any, tenant: Namespace
):
    broken = {"BACKEND": "tests.retrieval.broken.BrokenEmbedder"}
    settings.EMBEDDERS = {**settings.EMBEDDERS, "hashing": broken}
    load_backend.cache_clear()
    try:
        for mode in ("hybrid", "semantic"):
            body = library.query("boats on the quay", mode=mode).body
            assert body["results"][0]["title"] == "The Harbour"
            assert body["results"][0]["scores"]["vector"] is None
            assert body["diagnostics"]["fallbacks"] == ["lexical_only: embedding_failed"]
    finally:
        load_backend.cache_clear()


def test_another_model_than_the_indexs_never_embeds_the_question(library: Api, settings: Any):
    other = {
        "BACKEND": "documents.embedders.hashing.HashingEmbedder",
        "OPTIONS": {"dimensions": 64},
    }
    settings.EMBEDDERS = {**settings.EMBEDDERS, "hashing": other}
    load_backend.cache_clear()
    try:
        diagnostics = library.query("boats").body["diagnostics"]
        assert diagnostics["fallbacks"] == ["lexical_only: profile_mismatch"]
    finally:
        load_backend.cache_clear()


def test_meaning_finds_what_no_word_does(real_library: Api):
    """The real model: none of the question's words are in the passage."""
    body = real_library.query("When do the fishermen set sail?", mode="semantic").body
    assert body["results"][0]["section"] == "Trade"
    hybrid = real_library.query("recipe for making a loaf").body
    assert hybrid["results"][0]["title"] == "kitchen.txt"
    assert hybrid["diagnostics"]["profile"] == "default"


def test_changed_documents_leave_no_stale_hits(library: Api, work: Callable[[], int]):
    assert "The Harbour" in titles(library, "pilot", mode="lexical")
    library.upload(("harbour.md", "# Closed\n\nThe port has silted up."))
    assert "The Harbour" in titles(library, "pilot", mode="lexical")  # until the new one is ready
    work()
    assert titles(library, "pilot", mode="lexical") == []
    body = library.query("silted").body
    assert body["results"][0]["document_version"] == 2
