"""Searches in vector stores with the official client: what is found, with exact quotes."""

import uuid
from typing import Any

import openai
import pytest

from documents.models import Collection, Namespace
from ragsite.database.tenancy import namespace
from tests.client import Api


def test_results_are_of_the_store_with_quote_and_place(
    official: openai.OpenAI, store: str, files: dict[str, str], tenant: Namespace, api: Api
):
    page = official.vector_stores.search(store, query="who lights the lamp?")
    results = page.data
    assert {one.filename for one in results} == {"lighthouse.md", "harbour.md"}  # no kitchen
    best: Any = results[0]
    assert best.file_id == files[best.filename]
    assert 0 <= best.score <= 1
    text = api.get(f"documents/{uuid.UUID(best.file_id[5:])}/text").body["text"]
    assert best.quote == best.content[0].text == text[best.span["start"] : best.span["end"]]
    assert best.document_version == 1
    opened = api.client.get("/" + best.url.partition("//")[2].partition("/")[2])
    assert opened.status_code == 200
    raw = official.vector_stores.with_raw_response.search(
        store, query=["lamp", "boats"]
    ).http_response
    body = raw.json()
    assert body["object"] == "vector_store.search_results.page"
    assert (body["search_query"], body["has_more"]) == (["lamp", "boats"], False)


def test_several_questions_share_the_results(official: openai.OpenAI, store: str):
    questions = ["When do boats leave?", "When is the tower open to visitors?"]
    two = official.vector_stores.search(store, query=questions, max_num_results=2).data
    assert {one.filename for one in two} == {"harbour.md", "lighthouse.md"}
    many = official.vector_stores.search(store, query=questions, max_num_results=50).data
    places = [(one.file_id, one.content[0].text) for one in many]
    assert len(places) == len(set(places))


def eq(key: str, value: Any, kind: str = "eq") -> dict[str, Any]:
    return {"type": kind, "key": key, "value": value}


TOWER, PORT = {"lighthouse.md"}, {"harbour.md"}
BOTH, NONE = TOWER | PORT, set[str]()


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (eq("year", 2020), TOWER),
        (eq("year", "2020"), NONE),
        (eq("open", True), TOWER),
        (eq("kind", "port", "ne"), TOWER),
        (eq("open", True, "ne"), PORT),
        (eq("year", 2020, "gt"), PORT),
        (eq("year", 2020, "gte"), BOTH),
        (eq("year", 2024, "lt"), TOWER),
        (eq("year", 2024, "lte"), BOTH),
        (eq("kind", ["port", "quay"], "in"), PORT),
        (eq("kind", ["port", "quay"], "nin"), TOWER),
        (eq("kind", [], "in"), NONE),
        (eq("a.b", "x"), PORT),
        (eq("$a", "x"), NONE),
        ({"type": "and", "filters": [eq("year", 2020), eq("kind", "port")]}, NONE),
        ({"type": "or", "filters": [eq("year", 2020), eq("kind", "port")]}, BOTH),
        (
            {
                "type": "and",
                "filters": [
                    {"type": "or", "filters": [eq("year", 2020), eq("year", 2024)]},
                    eq("kind", "port"),
                ],
            },
            PORT,
        ),
    ],
)
def test_filters_on_attributes(
    official: openai.OpenAI, store: str, filters: Any, expected: set[str]
):
    found = official.vector_stores.search(store, query="lamp", filters=filters).data
    assert {one.filename for one in found} == expected


def test_the_threshold_leaves_out_what_scores_less(official: openai.OpenAI, store: str):
    search = official.vector_stores.search
    everything = search(store, query="who lights the lamp?").data
    scores = sorted(one.score for one in everything)
    assert scores[0] < scores[-1]
    ranking: Any = {"score_threshold": scores[-1], "ranker": "none"}
    best = search(store, query="who lights the lamp?", ranking_options=ranking).data
    assert 0 < len(best) < len(everything)
    assert all(one.score >= scores[-1] for one in best)
    words: Any = {"hybrid_search": {"embedding_weight": 0, "text_weight": 1}}
    assert search(store, query="visitors", ranking_options=words).data[0].filename in TOWER


def test_an_expired_store_says_so_and_finds_nothing(
    official: openai.OpenAI, store: str, tenant: Namespace
):
    kept = official.vector_stores.update(
        store, expires_after={"anchor": "last_active_at", "days": 7}
    )
    assert kept.expires_at == kept.last_active_at + 7 * 86_400
    assert official.vector_stores.search(store, query="lamp").data
    with namespace(tenant.pk):
        Collection.objects.update(last_active_at="2020-01-01T00:00:00Z")
    assert official.vector_stores.retrieve(store).status == "expired"
    assert official.vector_stores.search(store, query="lamp").data == []
    revived = official.vector_stores.update(store, expires_after=None)
    assert (revived.status, revived.expires_after) == ("completed", None)
    assert official.vector_stores.search(store, query="lamp").data


def test_use_puts_off_the_expiry(official: openai.OpenAI, store: str, tenant: Namespace):
    with namespace(tenant.pk):
        Collection.objects.update(last_active_at="2020-01-01T00:00:00Z")
    official.vector_stores.search(store, query="lamp")
    used = official.vector_stores.retrieve(store)
    assert used.last_active_at is not None
    assert used.last_active_at > 1_600_000_000
