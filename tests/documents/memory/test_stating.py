"""Statements over the API: what they confirm, what they close, and what is told about it."""

from typing import Any

import pytest

from tests.client import Api


def state(api: Api, subject: str, predicate: str, value: Any, **more: Any) -> dict[str, Any]:
    body = {"subject": subject, "predicate": predicate, "object": value, **more}
    answer = api.post("facts", body)
    assert answer.status in (200, 201), answer.body
    (result,) = answer.body["results"]
    return result


def held(api: Api, **wanted: str) -> list[tuple[str, Any]]:
    query = "&".join(f"{name}={value}" for name, value in {"as_of": "now", **wanted}.items())
    return [(f["subject"], f["object"]) for f in api.get(f"facts?{query}").body["results"]]


def test_a_fact_is_stored_with_everything_that_was_said(api: Api):
    answer = api.post(
        "facts",
        {
            "subject": "Acme Inc.",
            "predicate": "supplier",
            "object": {"name": "Bolt & Sons", "since": [2019, 2024]},
            "certainty": 0.8,
            "user": "ann",
            "tags": ["trade", "trade", "steel"],
            "source_uri": "crm:17",
            "valid_from": "2024-05-01",
            "valid_to": "2030-01-01T12:00:00+02:00",
        },
    )
    assert answer.status == 201
    (result,) = answer.body["results"]
    assert (result["outcome"], result["closed"]) == ("created", [])
    fact = result["fact"]
    assert fact["object"] == {"name": "Bolt & Sons", "since": [2019, 2024]}
    assert (fact["certainty"], fact["tags"], fact["user"]) == (0.8, ["trade", "steel"], "ann")
    assert (fact["valid_from"], fact["valid_to"]) == (
        "2024-05-01T00:00:00Z",
        "2030-01-01T10:00:00Z",
    )
    assert (fact["status"], fact["source"], fact["source_uri"]) == ("approved", "stated", "crm:17")
    assert fact["provenance"] is None
    (provenance,) = fact["provenances"]
    assert (provenance["kind"], provenance["source_uri"]) == ("client", "crm:17")


@pytest.mark.parametrize(
    ("predicate", "words"),
    [("livesIn", "lives in"), ("resides_in", "resides in"), ("hasURL", "has URL")],
)
def test_the_text_of_a_fact_has_the_words_of_its_predicate(api: Api, predicate: str, words: str):
    fact = state(api, "Ann", predicate, "Oslo", valid_from=None)["fact"]
    assert fact["text"] == f"Ann {words} Oslo."
    assert fact["predicate"] == predicate


def test_the_same_again_confirms_and_is_not_repeated(api: Api):
    first = state(api, "Acme Inc.", "lives in", "Oslo", certainty=0.5)["fact"]
    again = state(api, "ACME", "resides_in", "oslo", certainty=0.5, source_uri="b")
    assert again["outcome"] == "confirmed"
    assert again["fact"]["id"] == first["id"]
    assert again["fact"]["certainty"] == 0.625
    assert again["fact"]["last_verified_at"] > first["last_verified_at"]
    assert (again["fact"]["confirmations"], len(again["fact"]["provenances"])) == (1, 2)
    assert held(api) == [("Acme Inc.", "Oslo")]


def test_a_statement_that_was_sent_before_changes_nothing(api: Api):
    first = state(api, "Ann", "age", 40, certainty=0.5, statement_id="s1")
    again = state(api, "Ann", "age", 40, certainty=0.5, statement_id="s1")
    assert again["outcome"] == "known"
    assert again["fact"] == first["fact"]


def test_an_id_of_another_statement_is_refused_and_nothing_of_the_request_is_stored(api: Api):
    state(api, "Ann", "likes", "tea", statement_id="s1")
    tea = {"subject": "ann", "predicate": "likes", "object": "Tea", "statement_id": "s1"}
    for other in ({"object": "milk"}, {"predicate": "hates"}, {"subject": "Bob"}, {"user": "u"}):
        facts = [{**tea, "object": "cake", "statement_id": "s2"}, {**tea, **other}]
        refused = api.post("facts", {"facts": facts})
        assert (refused.status, refused.body["error"]["code"]) == (409, "fact_conflict")
        assert "s1" in refused.body["error"]["message"]
    twice = [{**tea, "statement_id": "s3"}, {**tea, "object": "milk", "statement_id": "s3"}]
    assert api.post("facts", {"facts": twice}).status == 409
    assert held(api) == [("Ann", "tea")]
    assert api.post("facts", tea).body["results"][0]["outcome"] == "known"


def test_another_value_closes_the_one_before_and_keeps_it(api: Api):
    oslo = state(api, "Ann", "lives in", "Oslo", valid_from="2020-01-01")["fact"]
    rome = state(api, "Ann", "lives in", "Rome", valid_from="2024-06-01")
    assert rome["closed"] == [oslo["id"]]
    assert held(api) == [("Ann", "Rome")]
    assert held(api, as_of="2022-01-01") == [("Ann", "Oslo")]
    everything = api.get("facts?subject=Ann").body["results"]
    assert {f["object"]: f["valid_to"] for f in everything} == {
        "Oslo": "2024-06-01T00:00:00Z",
        "Rome": None,
    }


def test_an_older_fact_that_arrives_late_supersedes_nothing_newer(api: Api):
    state(api, "Ann", "lives in", "Rome", valid_from="2024-06-01")
    late = state(api, "Ann", "lives in", "Oslo", valid_from="2020-01-01")
    assert late["closed"] == []
    assert late["fact"]["valid_to"] == "2024-06-01T00:00:00Z"
    assert held(api) == [("Ann", "Rome")]
    assert held(api, as_of="2021-01-01") == [("Ann", "Oslo")]


def test_what_gave_way_names_the_fact_that_took_its_place(api: Api):
    state(api, "Ann", "lives in", "Oslo", valid_from="2020-01-01")
    rome = state(api, "Ann", "lives in", "Rome", valid_from="2024-06-01")["fact"]
    lima = state(api, "Ann", "lives in", "Lima", valid_from="2020-01-01")["fact"]
    gone = state(api, "Ann", "lives in", "Graz", valid_from="2022-01-01")["fact"]
    api.post(f"facts/{gone['id']}/retract", {})
    tea = state(api, "Ann", "likes", "tea", valid_from="2020-01-01", valid_to="2024-06-01")["fact"]
    state(api, "Ann", "likes", "coffee", valid_from="2024-06-01")
    shown = api.get("facts/history?subject=Ann").body["results"]
    assert {fact["object"]: fact["superseded_by"] for fact in shown} == {
        "Oslo": lima["id"],  # corrected at the same moment
        "Lima": rome["id"],  # closed
        "Graz": None,  # taken back
        "Rome": None,
        "tea": None,  # ended by itself
        "coffee": None,
    }
    assert api.get(f"facts/{tea['id']}").body["superseded_by"] is None
    listed = api.get("facts?subject=Ann&predicate=lives%20in").body["results"]
    assert {fact["object"]: fact["superseded_by"] for fact in listed} == {
        "Lima": rome["id"],
        "Rome": None,
    }


def test_a_late_fact_between_two_statements_of_the_same_splits_them(api: Api):
    first = state(api, "Ann", "works at", "Acme", valid_from="2020-01-01")["fact"]
    state(api, "Ann", "works at", "Acme", valid_from="2024-01-01")
    state(api, "Ann", "works at", "Bolt", valid_from="2022-01-01")
    assert held(api) == [("Ann", "Acme")]
    assert held(api, as_of="2023-01-01") == [("Ann", "Bolt")]
    assert api.get("facts?as_of=2021-01-01").body["results"][0]["id"] == first["id"]
    assert api.get("facts?as_of=now").body["results"][0]["id"] != first["id"]


def test_a_predicate_with_several_values_keeps_them_all(api: Api):
    state(api, "Ann", "likes", "tea")
    assert state(api, "Ann", "likes", "jazz")["closed"] == []
    assert sorted(held(api)) == [("Ann", "jazz"), ("Ann", "tea")]


def test_two_users_memories_never_meet(api: Api):
    state(api, "me", "lives in", "Oslo", user="ann")
    assert state(api, "me", "lives in", "Rome", user="bob")["closed"] == []
    assert held(api, user="ann") == [("me", "Oslo")]


def test_several_at_once_are_stored_together_or_not_at_all(api: Api):
    batch = [
        {"subject": "Ann", "predicate": "lives in", "object": "Oslo"},
        {"subject": "Ann", "predicate": "lives in", "object": "Rome"},
        {"subject": "Bob", "predicate": "age", "object": 30},
    ]
    outcomes = api.post("facts", {"facts": batch}).body["results"]
    assert [one["outcome"] for one in outcomes] == ["created"] * 3
    assert sorted(held(api)) == [("Ann", "Rome"), ("Bob", 30)]
    refused = api.post("facts", {"facts": [batch[2], {**batch[0], "valid_to": "1999-01-01"}]})
    assert (refused.status, refused.code) == (422, "invalid_statement")
    assert api.get("facts?subject=Bob").body["results"][0]["confirmations"] == 0


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"subject": "a", "predicate": "b"},
        {"subject": "a", "predicate": "b", "object": " "},
        {"subject": " ", "predicate": "b", "object": 1},
        {"subject": "a", "predicate": "b", "object": "\x00"},
        {"subject": "a", "predicate": "b", "object": 1, "certainty": 1.5},
        {"subject": "a", "predicate": "b", "object": 1, "valid_from": "soon"},
        {"subject": "a", "predicate": "b", "object": 1, "colour": "red"},
        {"facts": []},
        {"facts": [{"subject": "a"}], "subject": "a"},
        {"subject": "a", "predicate": "b", "object": "x" * 20_000},
    ],
)
def test_what_is_no_statement_is_refused(api: Api, body: dict[str, Any]):
    refused = api.post("facts", body)
    assert (refused.status, refused.code) == (422, "invalid_request")


def test_a_fact_points_back_to_the_turn_that_says_it(api: Api, api_of: Any, other_tenant: Any):
    turn = {"role": "user", "content": "We moved to Bergen.", "at": "2025-03-01T09:00:00Z"}
    said = api.post("memories", {"session": "s1", "user": "ann", "turns": [turn]})
    turn_id = said.body["turns"][0]["turn_id"]
    fact = state(api, "Ann", "lives_in", "Bergen", turn_id=turn_id)["fact"]
    assert (fact["user"], fact["valid_from"]) == ("ann", "2025-03-01T09:00:00Z")
    (provenance,) = fact["provenances"]
    assert (provenance["kind"], provenance["turn_id"]) == ("turn", turn_id)
    shown = api.get(f"memories/{turn_id}").body
    assert shown["content"] == "We moved to Bergen."
    body = {"subject": "Ann", "predicate": "lives_in", "object": "Bergen", "turn_id": turn_id}
    refused = api_of(other_tenant).post("facts", body)
    assert (refused.status, refused.code) == (422, "invalid_statement")
