"""POST /api/rag/index and /api/rag/search: the owner's shape, to the field."""

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as configured
from django.db import connections

from documents.ingestion.pipeline import ingest
from documents.jobs import heartbeat, queue
from documents.models import Namespace

from ..client import Answer, Api

INDEX, SEARCH = "api/rag/index", "api/rag/search"
FIELDS = {
    "id",
    "content",
    "similarity",
    "keywordRank",
    "combinedScore",
    "metadata",
    "namespace",
    "sourceId",
    "chunkIndex",
}
ELSEWHERE = [
    "How do I bake sourdough bread?",
    "Who won the 1966 world cup?",
    "capital of Mongolia",
    "best pizza in Naples",
    "How do vaccines work?",
    "quantum entanglement explained",
    "flurb quandle zoot",
    "What is the GDP of Peru?",
    "lyrics of yesterday",
    "How tall is Mount Everest?",
    "learn to play the violin",
    "symptoms of malaria",
]


@pytest.fixture
def worker(db: None) -> Iterator[None]:
    """Somebody who indexes while a request waits."""
    ended = threading.Event()

    def run() -> None:
        while not ended.wait(0.02):
            if claim := queue.claim(heartbeat.group()):
                ingest(claim)
        connections.close_all()

    thread = threading.Thread(target=run)
    thread.start()
    yield
    ended.set()
    thread.join()


def index(api: Api, *documents: Any, **more: Any) -> Answer:
    return api.post(INDEX, {"documents": list(documents), **more})


@pytest.mark.usefixtures("worker")
def test_documents_are_indexed_before_the_answer_comes(api: Api):
    answer = index(
        api,
        {"content": "The ferry leaves at seven.", "id": "ferry-1", "metadata": {"year": 2026}},
        {"content": "The bakery opens at six.", "id": "page-2", "sourceId": "town-guide"},
        namespace="tenant",
    )
    assert answer.status == 200
    assert answer.body == {
        "success": True,
        "indexed": 2,
        "chunksCreated": 2,
        "namespace": "tenant",
        "total": 2,
        "failed": [],
    }
    found = api.post(SEARCH, {"query": "When does the ferry leave?"}).body
    assert set(found) == {"success", "query", "results", "latencyMs", "rerankingApplied"}
    assert (found["success"], found["rerankingApplied"]) == (True, False)
    best = found["results"][0]
    assert set(best) == FIELDS
    assert best["content"] == "The ferry leaves at seven."
    assert best["metadata"] == {"year": 2026, "id": "ferry-1"}
    assert (best["sourceId"], best["namespace"], best["chunkIndex"]) == ("ferry-1", "tenant", 0)
    assert best["similarity"] >= 0.7
    bakery = api.post(SEARCH, {"query": "When does the bakery open?"}).body["results"][0]
    assert bakery["sourceId"] == "town-guide"
    assert bakery["metadata"] == {"id": "page-2", "sourceId": "town-guide"}


@pytest.mark.usefixtures("worker")
def test_the_same_id_again_replaces_and_the_same_content_creates_nothing(api: Api):
    index(api, {"content": "The ferry leaves at seven.", "id": "ferry"})
    same = index(api, {"content": "The ferry leaves at seven.", "id": "ferry"}).body
    assert (same["success"], same["indexed"], same["chunksCreated"]) == (True, 1, 0)
    assert index(api, {"content": "The ferry leaves at nine.", "id": "ferry"}).body["indexed"] == 1
    found = api.post(SEARCH, {"query": "When does the ferry leave?"}).body["results"]
    assert [hit["content"] for hit in found] == ["The ferry leaves at nine."]
    twin = index(api, {"content": "The ferry leaves at nine.", "id": "copy"}).body
    assert (twin["indexed"], twin["chunksCreated"]) == (1, 1)
    assert len(api.get("documents").body["results"]) == 2


@pytest.mark.usefixtures("worker")
def test_one_bad_document_does_not_stop_the_others_and_the_status_stays_200(api: Api):
    answer = index(
        api,
        {"content": ""},
        {"content": "Good."},
        {"text": "misnamed"},
        "not an object",
        {"content": "x", "metadata": []},
        {"content": "one", "id": "same"},
        {"content": "two", "id": "same"},
        {"content": 5},
    )
    assert answer.status == 200
    assert (answer.body["success"], answer.body["indexed"]) == (False, 2)
    assert answer.body["total"] == 8
    assert [failure["index"] for failure in answer.body["failed"]] == [0, 2, 3, 4, 6, 7]
    assert all(failure["error"] for failure in answer.body["failed"])


def test_what_is_not_done_in_time_is_said_to_be_under_way(api: Api, settings: Any):
    settings.INGEST_MAX_WAIT = 0.1
    answer = index(api, {"content": "Nobody works here."})
    assert answer.status == 200
    assert (answer.body["success"], answer.body["indexed"]) == (False, 0)
    assert "Still being indexed" in answer.body["failed"][0]["error"]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (INDEX, {}),
        (INDEX, {"documents": []}),
        (INDEX, {"documents": "text"}),
        (INDEX, {"documents": [{"content": "x"}], "chunkSize": 0}),
        (INDEX, {"documents": [{"content": "x"}], "chunkOverlap": "50"}),
        (INDEX, {"documents": [{"content": "x"}], "namespace": 5}),
        (SEARCH, {}),
        (SEARCH, {"query": "x", "limit": 0}),
        (SEARCH, {"query": "x", "threshold": 1.5}),
        (SEARCH, {"query": "x", "useReranking": "yes"}),
        (SEARCH, {"query": "x", "keywordWeight": 0, "semanticWeight": 0}),
        (SEARCH, {"query": "x", "topK": 5}),
        (SEARCH, []),
    ],
)
def test_a_request_that_cannot_be_read_is_refused_in_their_shape(api: Api, path: str, body: Any):
    answer = api.post(path, body)
    assert (answer.status, answer.code) == (422, "invalid_request")
    assert answer.body["success"] is False
    assert isinstance(answer.body["error"], str)
    assert set(answer.body) == {"success", "error", "code", "requestId"}


@pytest.mark.usefixtures("library", "other_tenant")
def test_another_namespace_is_like_one_that_does_not_exist(api: Api):
    for path, body in (
        (SEARCH, {"query": "boats"}),
        (INDEX, {"documents": [{"content": "Smuggled."}]}),
    ):
        theirs = api.post(path, {**body, "namespace": "other"})
        nobodys = api.post(path, {**body, "namespace": "no-such-thing"})
        assert (theirs.status, theirs.code) == (404, "unknown_namespace")
        assert (theirs.status, theirs.message) == (nobodys.status, nobodys.message)
        assert sorted(theirs.headers) == sorted(nobodys.headers)
        assert "other" not in theirs.message
    assert api.post(SEARCH, {"query": "boats", "namespace": "tenant"}).status == 200
    assert len(api.get("documents").body["results"]) == 3


def test_each_key_finds_only_its_own(
    library: Api, api_of: Callable[..., Api], other_tenant: Namespace
):
    assert library.post(SEARCH, {"query": "fishing boats"}).body["results"]
    assert api_of(other_tenant).post(SEARCH, {"query": "fishing boats"}).body["results"] == []


def test_keys_and_scopes_are_asked_for_in_their_shape(
    api: Api, api_of: Callable[..., Api], tenant: Namespace
):
    nobody = Api(api.client).post(SEARCH, {"query": "x"})
    assert (nobody.status, nobody.body["success"], nobody.code) == (401, False, "not_authenticated")
    assert nobody.headers["WWW-Authenticate"].startswith("Bearer")
    reader = api_of(tenant, ("read",))
    refused = reader.post(INDEX, {"documents": [{"content": "x"}]})
    assert (refused.status, refused.code) == (403, "insufficient_scope")
    assert reader.post(SEARCH, {"query": "x"}).status == 200


def test_limit_threshold_and_weights_do_what_they_say(library: Api):
    def search(**options: Any) -> list[dict[str, Any]]:
        return library.post(SEARCH, {"query": "boats and the lamp", **options}).body["results"]

    everything = search(threshold=0)
    assert len(everything) > 1
    assert len(search(threshold=0, limit=1)) == 1
    scores = [hit["similarity"] for hit in everything]
    cut = sorted(scores)[len(scores) // 2]
    assert {hit["id"] for hit in search(threshold=cut)} <= {hit["id"] for hit in everything}
    assert all(hit["similarity"] >= cut - 0.0001 for hit in search(threshold=cut))
    words = search(threshold=0, keywordWeight=1, semanticWeight=0)
    by_words = [hit["keywordRank"] for hit in words]
    assert by_words[0] == max(by_words) > 0


def test_default_questions_get_their_answer_and_others_get_nothing(
    api_of: Callable[..., Api], real_tenant: Namespace, work: Callable[[], int]
):
    """docs/tools.md has the figures of other readings of the threshold."""
    api = api_of(real_tenant)
    root = Path(configured.BASE_DIR)
    files = sorted((root / "documents/samples").glob("*.md"))
    api.upload(*((file.name, file.read_text()) for file in files))
    work()
    lines = (root / "evaluation/golden/starter/harbour-lights.jsonl").read_text().splitlines()
    right = 0
    for question in map(json.loads, lines):
        wanted = {j["source_uri"].partition(":")[2] for j in question["judgements"]}
        found = api.post(SEARCH, {"query": question["query"]}).body["results"]
        right += any(hit["sourceId"].partition(":")[2] in wanted for hit in found)
    astray = sum(bool(api.post(SEARCH, {"query": q}).body["results"]) for q in ELSEWHERE)
    assert right >= len(lines) - 1
    assert astray <= 2


@pytest.mark.usefixtures("worker")
def test_chunk_sizes_are_in_characters_and_senseless_ones_fail_on_their_own(api: Api):
    text = "The ferry leaves at seven in the morning. " * 60

    def chunks(**sizes: int) -> int:
        body = index(api, {"content": text, "id": str(sizes)}, **sizes).body
        assert body["success"], body
        return int(body["chunksCreated"])

    assert chunks(chunkSize=200) > 2 * chunks(chunkSize=600)
    assert chunks(chunkSize=200, chunkOverlap=80) > chunks(chunkSize=200, chunkOverlap=0)
    for sizes in ({"chunkSize": 10}, {"chunkSize": 200, "chunkOverlap": 150}):
        answer = index(api, {"content": text, "id": "senseless"}, **sizes)
        assert (answer.status, answer.body["indexed"]) == (200, 0)
        assert "characters" in answer.body["failed"][0]["error"]
