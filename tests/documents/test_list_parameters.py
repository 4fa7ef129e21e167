"""Limits, states and choices that are no such thing are refused with the valid ones."""

import base64

import pytest

from ..client import Api


@pytest.mark.parametrize("limit", ["abc", "0", "-1", "1.5", "%00", "٣", "9" * 5000 + "x"])
def test_a_limit_that_is_no_number_is_refused_with_the_range(api: Api, limit: str):
    answer = api.get(f"documents?limit={limit}")
    assert (answer.status, answer.code) == (422, "invalid_request")
    (field,) = answer.body["error"]["details"]["fields"]
    assert field["field"] == "limit"
    if limit != "%00":
        assert "from 1 to 200" in field["message"]


@pytest.mark.parametrize(
    ("path", "valid"),
    [
        ("documents?status=done", "queued"),
        ("jobs?state=ready", "succeeded"),
        ("evaluations?state=ready", "cancelled"),
    ],
)
def test_an_unknown_state_is_refused_with_those_there_are(api: Api, path: str, valid: str):
    answer = api.get(path)
    assert (answer.status, answer.code) == (422, "invalid_request")
    assert valid in answer.body["error"]["message"]


def test_an_unknown_choice_is_refused_with_those_there_are(api: Api):
    for options, valid in (
        ({"mode": "fuzzy"}, "hybrid, semantic, lexical"),
        ({"filters": {"kind": ["picture"]}}, "text, code, table, image"),
    ):
        answer = api.query("x", **options)
        assert answer.status == 422
        assert valid in answer.body["error"]["message"]


def test_a_forged_cursor_or_an_unstorable_filter_is_the_callers_mistake(api: Api):
    harbour = api.upload(("harbour.md", "# Harbour\n\nText.")).body["results"][0]["document_id"]

    def cursor(text: str) -> str:
        return base64.b64encode(text.encode()).decode().replace("=", "%3D")

    cursors = [
        f"documents?cursor={cursor('p=yesterday')}",
        f"documents?cursor={cursor('p=2026-01-01T00:00:00%2B23:59')}",
        f"documents?cursor={cursor('p=%00')}",
        f"documents?cursor={cursor('o=-5')}",
        "documents?cursor=%00",
        "documents?cursor=***",
        f"documents/{harbour}/chunks?cursor={cursor('p=one')}",
        f"documents/{harbour}/chunks?cursor={cursor('p=99999999999999999999')}",
        f"documents/{harbour}/versions?cursor={cursor('p=x')}",
    ]
    for query in cursors:
        answer = api.get(query)
        assert (answer.status, answer.code) == (422, "invalid_request"), query
    assert "next" in answer.body["error"]["message"]  # where a good one comes from
    queries = [
        "documents?tag=%00",
        "documents?status=%00",
        "documents?source_uri=a%00b",
        "jobs?state=%00",
        "jobs?document_id=x",
        "jobs?document_id=%00",
    ]
    answers = [(query, api.get(query)) for query in queries]
    assert not [(query, a.status) for query, a in answers if a.status not in (200, 404, 422)]
