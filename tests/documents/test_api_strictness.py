"""What the schema does not allow is refused by name, and what it allows is taken."""

from typing import Any

import pytest

from ..client import Api

LISTS = ["documents", "jobs", "facts", "feedback", "golden-sets", "evaluations"]


def fields(answer: Any) -> dict[str, str]:
    assert answer.status == 422, answer.body
    return {entry["field"]: entry["message"] for entry in answer.body["error"]["details"]["fields"]}


@pytest.mark.parametrize("limit", ["abc", "0", "-1", "1.5", "", "null", "9" * 5000 + "x", "%D9%A3"])
def test_a_limit_is_a_whole_number(api: Api, limit: str):
    for name in LISTS:
        refused = api.get(f"{name}?limit={limit}")
        assert fields(refused) == {"limit": "A whole number from 1 to 200."}, name
        assert api.get(f"{name}?limit=200").status == 200
        assert api.get(f"{name}?limit={'9' * 40}").status == 200


@pytest.mark.parametrize(
    ("address", "name", "choice"),
    [
        ("documents?status=", "status", "ready"),
        ("jobs?state=", "state", "queued"),
        ("evaluations?state=", "state", "succeeded"),
        ("feedback?useful=", "useful", "unsaid"),
    ],
)
def test_an_unknown_state_is_refused_with_those_there_are(
    api: Api, address: str, name: str, choice: str
):
    for value in ("", "AAA", choice.upper()):
        assert choice in fields(api.get(address + value))[name]
    assert api.get(address + choice).status == 200


def test_a_parameter_is_given_once_and_is_not_blank_where_that_means_nothing(api: Api):
    assert fields(api.get("documents?limit=3&limit=4")) == {"limit": "Can be given only once."}
    assert "document_id" in fields(api.get("jobs?document_id="))
    assert "since" in fields(api.get("feedback?since="))
    assert "as_of" in fields(api.get("facts?as_of="))


def test_a_cursor_that_is_none_of_ours_leads_nowhere_and_says_where_to_get_one(api: Api):
    for name in LISTS:
        answer = api.get(f"{name}?cursor=nonsense")
        assert "`next`" in fields(answer)["cursor"]


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("query", {"query": 5}, "query"),
        ("query", {"query": "x", "k": "5"}, "k"),
        ("query", {"query": "x", "k": True}, "k"),
        ("query", {"query": "x", "k": 1.5}, "k"),
        ("query", {"query": "x", "explain": "yes"}, "explain"),
        ("query", {"query": "x", "explain": 1}, "explain"),
        ("query", {"query": "x", "mmr_lambda": "0.5"}, "mmr_lambda"),
        ("query", {"query": "x", "threshold": "0.5"}, "threshold"),
        ("query", {"query": "x", "threshold": {"final": True}}, "threshold.final"),
        ("query", {"query": "x", "filters": {"tags": [0]}}, "filters.tags.0"),
        ("query", {"query": "x", "filters": {"document_ids": [7]}}, "filters.document_ids.0"),
        ("query", {"query": "x", "weights": {"semantic": "1", "lexical": 0}}, "weights.semantic"),
        ("golden-sets", {"name": "x", "description": 0}, "description"),
        ("feedback", {"query": "x", "useful": "true"}, "useful"),
        ("feedback", {"query": "x", "selected_chunk_ids": [5]}, "selected_chunk_ids.0"),
    ],
)
def test_json_is_of_the_type_that_is_wanted(api: Api, path: str, body: dict, field: str):
    assert field in fields(api.post(path, body))


def test_a_whole_number_may_be_written_with_a_point(api: Api):
    assert api.query("x", k=5.0, mmr_lambda=1).status == 200


def test_forms_hold_nothing_but_text_and_are_read_so(api: Api):
    upload = api.upload(("a.csv", "name\nx\n"), rows_as_facts="true", wait="0", tags="a,b")
    assert upload.status == 202, upload.body


def test_a_list_of_tags_counts_before_blanks_and_repetitions_are_dropped(api: Api):
    body = {"documents": [{"content": "x"}], "tags": ["same"] * 101}
    assert "tags" in fields(api.post("ingest", body))
    assert api.post("ingest", {**body, "tags": ["a", "", "a"]}).status == 202
