"""Golden sets and runs through the API: curate, measure, compare, and clear errors."""

from collections.abc import Callable
from typing import Any

import pytest

from documents.models import Document, Namespace
from evaluation import tasks

from ..client import Api

JUDGED = {
    "query": "how hot must the kiln be?",
    "tags": ["heat"],
    "judgements": [{"source_uri": "upload:kiln.md", "quote": "1240 degrees", "grade": 3}],
}


@pytest.fixture
def golden(api: Api, library: dict[str, Document]) -> str:
    answer = api.post("golden-sets", {"name": "trade", "description": "Of trades."})
    assert answer.status == 201
    return str(answer.body["id"])


def test_a_set_is_curated_query_by_query_and_judgement_by_judgement(
    api: Api, golden: str, library: dict[str, Document]
):
    query = api.post(f"golden-sets/{golden}/queries", JUDGED).body
    (judgement,) = query["judgements"]
    assert judgement["quote"] == "1240 degrees"
    text = api.get(f"documents/{judgement['document_id']}/text").body["text"]
    assert text[judgement["span"]["start"] : judgement["span"]["end"]] == "1240 degrees"
    bread = str(library["bread.md"].pk)
    negative = {"document_id": bread, "hard_negative": True}
    added = api.post(f"golden-queries/{query['id']}/judgements", negative)
    assert (added.status, added.body["grade"], added.body["span"]) == (201, 0, None)
    changed = api.patch(f"golden-queries/{query['id']}", {"notes": "hot", "query": "how hot?"})
    assert (changed.body["notes"], changed.body["query"]) == ("hot", "how hot?")
    assert len(changed.body["judgements"]) == 2
    assert api.delete(f"judgements/{added.body['id']}").status == 204
    assert len(api.get(f"golden-queries/{query['id']}").body["judgements"]) == 1
    (listed,) = api.get("golden-sets").body["results"]
    assert (listed["name"], listed["queries"]) == ("trade", 1)
    assert len(api.get(f"golden-sets/{golden}/queries").body["results"]) == 1
    assert api.delete(f"golden-queries/{query['id']}").status == 204
    assert api.get(f"golden-sets/{golden}").body["queries"] == 0
    assert api.delete(f"golden-sets/{golden}").status == 204
    assert api.get(f"golden-sets/{golden}").status == 404


def test_a_run_is_queued_done_by_a_worker_and_compared(api: Api, golden: str):
    api.post(f"golden-sets/{golden}/queries", JUDGED)
    started = api.post("evaluations", {"golden_set_id": golden, "name": "first"})
    assert (started.status, started.body["state"]) == (202, "queued")
    second = api.post("evaluations", {"golden_set_id": golden, "mode": "lexical"}).body["id"]
    tasks.run_next_evaluation()
    tasks.run_next_evaluation()
    run = api.get(f"evaluations/{started.body['id']}").body
    assert (run["state"], run["error"], run["name"]) == ("succeeded", None, "first")
    assert run["metrics"]["recall@10"]["mean"] == 1
    (score,) = api.get(f"evaluations/{run['id']}/queries").body["results"]
    assert score["judged"][0]["ranks"]["lexical"] == 1
    assert score["ranking"][0]["grade"] == 3
    compared = api.get(f"evaluations/compare?a={run['id']}&b={second}").body
    assert compared["measures"]["ndcg@10"]["b"] == 1
    assert compared["queries"] == len(compared["wins"]) + compared["ties"] == 1
    assert len(api.get(f"evaluations?golden_set_id={golden}&state=succeeded").body["results"]) == 2
    assert api.post(f"evaluations/{run['id']}/cancel").code == "run_ended"


def test_a_waiting_run_can_be_cancelled(api: Api, golden: str):
    api.post(f"golden-sets/{golden}/queries", JUDGED)
    run = api.post("evaluations", {"golden_set_id": golden}).body["id"]
    assert api.post(f"evaluations/{run}/cancel").body["state"] == "cancelled"
    tasks.run_next_evaluation()
    assert api.get(f"evaluations/{run}").body["state"] == "cancelled"
    assert api.get(f"evaluations/compare?a={run}&b={run}").code == "bad_options"


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"query": "x", "judgements": [{}]}, 422, "invalid_request"),
        ({"query": "x", "judgements": [{"source_uri": "nowhere"}]}, 422, "unknown_document"),
        ({"query": " "}, 422, "invalid_request"),
        ({"query": "x", "filters": {"colour": "red"}}, 422, "invalid_request"),
        ({"query": "x", "filters": [1]}, 422, "invalid_request"),
        ({"query": "x", "judgements": [{"source_uri": "a", "grade": 11}]}, 422, "invalid_request"),
        (
            {"query": "x", "judgements": [{"source_uri": "upload:kiln.md", "quote": "cold"}]},
            422,
            "bad_golden_set",
        ),
        (
            {
                "query": "x",
                "judgements": [{"source_uri": "upload:kiln.md", "span": {"start": 5, "end": 4}}],
            },
            422,
            "bad_golden_set",
        ),
        (
            {
                "query": "x",
                "judgements": [{"source_uri": "upload:kiln.md", "grade": 2, "hard_negative": True}],
            },
            422,
            "bad_golden_set",
        ),
        ({"question": "x"}, 422, "invalid_request"),
    ],
)
def test_bad_queries_are_refused_whole(
    body: dict[str, Any], status: int, code: str, api: Api, golden: str
):
    answer = api.post(f"golden-sets/{golden}/queries", body)
    assert (answer.status, answer.code) == (status, code)
    assert api.get(f"golden-sets/{golden}").body["queries"] == 0


def test_bad_runs_are_refused(api: Api, golden: str):
    assert api.post("golden-sets", {"name": "trade"}).code == "name_taken"
    assert api.post("evaluations", {"golden_set_id": golden}).code == "nothing_to_measure"
    api.post(f"golden-sets/{golden}/queries", JUDGED)
    for wrong, code in (
        ({"mode": "psychic"}, "invalid_request"),
        ({"semantic_weight": 2}, "invalid_request"),
        ({"rerank": "cross-encoder"}, "bad_options"),
        ({"golden_set_id": "0" * 32}, "unknown_golden_set"),
        ({"profile": "other"}, "invalid_request"),
    ):
        answer = api.post("evaluations", {"golden_set_id": golden, **wrong})
        assert (answer.status, answer.code) == (422, code)
    assert api.get("evaluations/compare?a=x&b=y").status == 422
    assert api.get("evaluations?colour=red").status == 422


def test_another_tenants_documents_cannot_be_judged(
    api: Api,
    api_of: Callable[..., Api],
    other_tenant: Namespace,
    library: dict[str, Document],
):
    stranger = api_of(other_tenant)
    theirs = stranger.post("golden-sets", {"name": "spying"}).body["id"]
    kiln = str(library["kiln.md"].pk)
    body = {"query": "x", "judgements": [{"document_id": kiln}]}
    answer = stranger.post(f"golden-sets/{theirs}/queries", body)
    assert (answer.status, answer.code) == (422, "unknown_document")
    assert stranger.get("evaluations").body["results"] == []
