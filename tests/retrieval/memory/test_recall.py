"""Facts found by meaning and words, weighed by certainty and age, and cited like passages."""

import hashlib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from documents.memory.rules.periods import decay
from documents.models import Fact, FactStatement, FactVector, Namespace
from documents.reindex import switching
from ragsite.database.tenancy import namespace, operator
from tests.client import Api

Work = Callable[[], int]


def state(api: Api, subject: str, predicate: str, value: Any, **more: Any) -> dict[str, Any]:
    body = {"subject": subject, "predicate": predicate, "object": value, **more}
    answer = api.post("facts", body)
    assert answer.status in (200, 201), answer.body
    fact: dict[str, Any] = answer.body["results"][0]["fact"]
    return fact


def search(api: Api, query: str = "", **options: Any) -> list[dict[str, Any]]:
    answer = api.post("facts/search", {**({"query": query} if query else {}), **options})
    assert answer.status == 200, answer.body
    found: list[dict[str, Any]] = answer.body["results"]
    return found


def age(fact: dict[str, Any], tenant: Namespace, *, days: float) -> None:
    """Let a fact have been verified so long ago."""
    then = datetime.now(UTC) - timedelta(days=days)
    with namespace(tenant.pk):
        Fact.objects.filter(pk=fact["id"]).update(last_verified_at=then)
        FactStatement.objects.filter(fact=fact["id"]).update(verified_at=then)


@pytest.fixture
def people(real_tenant: Namespace, api_of: Callable[..., Api]) -> Api:
    api = api_of(real_tenant)
    state(api, "Ann", "lives in", "Oslo", valid_from="2020-01-01")
    state(api, "Ann", "lives in", "Rome", valid_from="2024-06-01", tags=["home"])
    state(api, "Ann", "likes", "green tea")
    state(api, "Bob", "works at", "Acme Inc.", user="bob")
    state(api, "Router X7", "warranty period", {"months": 24})
    return api


def test_a_question_finds_the_fact_by_meaning_and_by_words(people: Api):
    (first, *_) = search(people, "Which city is Ann's home?")
    assert (first["subject"], first["object"]) == ("Ann", "Rome")
    (first, *_) = search(people, "How long is the guarantee of the router?")
    assert first["object"] == {"months": 24}
    (only,) = search(people, "tea", mode="lexical")
    assert only["object"] == "green tea"


def test_the_scope_narrows_what_is_found(people: Api):
    assert {f["object"] for f in search(people, subjects=["ANN"])} == {"Rome", "green tea"}
    (only,) = search(people, subjects=["ann"], predicates=["resides_in"])
    assert only["object"] == "Rome"
    (only,) = search(people, tags=["home"])
    assert only["object"] == "Rome"
    assert "Acme Inc." not in [f["object"] for f in search(people, user="ann")]
    assert "Acme Inc." in [f["object"] for f in search(people, user="bob")]


def test_facts_that_have_nothing_to_do_with_the_question_are_left_out(people: Api):
    assert search(people, "How do I resolve a git rebase conflict?") == []
    found = search(people, "How long is the guarantee of the router?")
    assert [fact["object"] for fact in found] == [{"months": 24}]
    every = search(people, "How long is the guarantee of the router?", min_relevance=0)
    assert len(every) == 4
    assert min(fact["relevance"] for fact in every) < 0.005
    # Everything about a subject needs no relevance, and nothing related is lost.
    assert len(search(people, subjects=["Ann"])) == 2
    assert {"Rome", "green tea"} <= {f["object"] for f in search(people, "Tell me about Ann")}


def test_nothing_is_left_out_where_relevance_says_little(api: Api):
    """The tests' own model is not calibrated."""
    state(api, "Ann", "likes", "tea")
    assert len(search(api, "git rebase")) == 1


def test_now_is_a_moment_at_every_door(people: Api):
    state(people, "Ann", "status", "on holiday", valid_from="2024-01-01", valid_to="2024-02-01")
    listed = {f["object"] for f in people.get("facts?subject=ann&as_of=now").body["results"]}
    found = {f["object"] for f in search(people, subjects=["ann"], as_of="now")}
    assert listed == found == {"Rome", "green tea"}
    asked = people.query("Where does Ann live?", include_facts={"as_of": "now"}, k=1)
    assert asked.body["results"][0]["content"] == "Ann lives in Rome (since 2024-06-01)."
    refused = people.post("facts/search", {"as_of": "soon"})
    assert (refused.status, refused.code) == (422, "invalid_request")
    # To state one takes a date: left out is from now on.
    wrong = {"subject": "Ann", "predicate": "status", "object": "ill", "valid_from": "now"}
    assert people.post("facts", wrong).status == 422


def test_as_of_answers_what_was_true_then(people: Api):
    (only,) = search(people, "Where does Ann live?", predicates=["lives in"], as_of="2022-01-01")
    assert only["object"] == "Oslo"
    assert only["text"] == "Ann lives in Oslo (from 2020-01-01 to 2024-06-01)."
    assert search(people, "Where does Ann live?", as_of="2019-01-01", subjects=["Ann"]) == []


def test_known_at_answers_what_was_believed_then(api: Api):
    oslo = state(api, "Ann", "lives in", "Oslo", valid_from="2020-01-01")
    before = oslo["recorded_at"]
    rome = state(api, "Ann", "lives in", "Rome", valid_from="2021-01-01")
    now = datetime.now(UTC).isoformat()
    believed = search(api, subjects=["Ann"], known_at=before, as_of=now)
    assert [(f["object"], f["valid_to"]) for f in believed] == [("Oslo", None)]
    assert [f["object"] for f in search(api, subjects=["Ann"])] == ["Rome"]
    assert api.post(f"facts/{rome['id']}/retract").status == 200
    assert [f["object"] for f in search(api, subjects=["Ann"])] == ["Oslo"]
    then = search(api, subjects=["Ann"], known_at=rome["recorded_at"], as_of=now)
    assert [f["object"] for f in then] == ["Rome"]


def test_the_score_is_relevance_times_certainty_times_decay(api: Api, tenant: Namespace):
    old = state(api, "Ann", "mood", "cheerful", certainty=0.8)
    age(old, tenant, days=30)
    (found,) = search(api, "What is Ann's mood?", explain=True)
    why = found["explanation"]
    assert why["half_life_days"] == 30.0
    assert why["decay"] == pytest.approx(0.5, abs=0.001)
    assert why["certainty"] == 0.8
    assert found["relevance"] > 0
    assert found["score"] == pytest.approx(found["relevance"] * 0.8 * why["decay"], rel=1e-4)


def test_what_was_confirmed_lately_goes_first_and_durable_facts_do_not_age(
    api: Api, tenant: Namespace
):
    stale = state(api, "Ann", "likes", "jazz music", certainty=0.9)
    state(api, "Ann", "likes", "folk music", certainty=0.9)
    age(stale, tenant, days=400)
    assert [f["object"] for f in search(api, "music Ann likes")] == ["folk music", "jazz music"]
    assert api.post(f"facts/{stale['id']}/confirm").body["outcome"] == "confirmed"
    assert search(api, "music Ann likes")[0]["object"] == "jazz music"
    born = state(api, "Ann", "born on", "1980-02-03")
    age(born, tenant, days=5000)
    (found,) = search(api, predicates=["birthday"], explain=True)
    assert (found["explanation"]["decay"], found["explanation"]["half_life_days"]) == (1.0, None)


def test_decay_halves_after_each_half_life():
    assert [decay(days, 10) for days in (-1, 0, 10, 20)] == [1.0, 1.0, 0.5, 0.25]
    assert decay(1e6, None) == 1.0


def test_what_tables_and_clients_say_alike_is_found_once(api: Api, work: Work):
    api.upload(("a.csv", "sku,price\nA1,12\n"), rows_as_facts="true")
    api.upload(("b.csv", "sku,price\nA1,12\nB2,3\n"), rows_as_facts="true")
    work()
    state(api, "a1", "price", "12")
    (found,) = search(api, "price of A1", subjects=["A1"])
    assert found["source"] == "stated" or len(found["same_in_tables"]) == 2
    assert len(found["same_in_tables"]) == 2


# -- among passages ----------------------------------------------------------------------


def test_facts_are_cited_among_passages_and_marked_as_memory(people: Api, work: Work):
    people.upload(("oslo.md", "# Oslo\n\nOslo is the capital of Norway and has a harbour.\n"))
    work()
    plain = people.query("In which city does Ann live?").body
    assert all(hit["fact"] is None and hit["chunk_id"] for hit in plain["results"])
    body = people.query("In which city does Ann live?", include_facts=True, explain=True).body
    first = body["results"][0]
    assert (first["kind"], first["title"]) == ("fact", "Memory")
    assert first["content"] == "Ann lives in Rome (since 2024-06-01)."
    assert (first["chunk_id"], first["document_id"]) == (None, None)
    assert first["fact"]["valid_from"] == "2024-06-01T00:00:00+00:00"
    assert first["fact"]["provenances"][0]["kind"] == "client"
    assert body["context"]["text"].startswith("[1] Memory\nAnn lives in Rome (since 2024-06-01).")
    citation = body["citations"][0]
    assert citation["fact"]["id"] == first["fact"]["id"]
    text = first["content"][citation["span"]["start"] : citation["span"]["end"]]
    assert citation["checksum"] == hashlib.sha256(text.encode()).hexdigest()
    assert body["diagnostics"]["facts"][0]["fact_id"] == first["fact"]["id"]
    assert any(hit["fact"] is None for hit in body["results"])


def test_an_unrelated_question_is_given_no_facts(people: Api, work: Work):
    people.upload(("tides.md", "# Tides\n\nThe moon moves the water of the sea twice a day.\n"))
    work()
    body = people.query("What moves the water of the sea?", include_facts=True).body
    assert [hit["fact"] for hit in body["results"]] == [None]


def test_k_and_the_scope_hold_for_facts_too(people: Api):
    question = "Where does Ann live?"
    then = people.query(question, include_facts={"as_of": "2021-01-01"}, k=1).body["results"]
    assert [hit["content"] for hit in then] == [
        "Ann lives in Oslo (from 2020-01-01 to 2024-06-01)."
    ]
    assert people.query(question, include_facts={"subjects": ["Bob"]}).body["results"] == []
    refused = people.query(question, include_facts={"colour": "red"})
    assert (refused.status, refused.code) == (422, "invalid_request")


def test_a_new_fact_is_found_at_once_although_results_are_cached(people: Api):
    question = {"include_facts": {"subjects": ["Ann"]}}
    assert people.query("Where does Ann live?", **question).body["results"]
    state(people, "Ann", "lives in", "Lima", valid_from="2025-01-01")
    body = people.query("Where does Ann live?", **question).body
    assert body["results"][0]["content"] == "Ann lives in Lima (since 2025-01-01)."


def test_an_answer_cites_a_fact_to_the_character(people: Api, work: Work):
    people.upload(("oslo.md", "# Oslo\n\nOslo is the capital of Norway and has a harbour.\n"))
    work()
    answer = people.post("answer", {"query": "In which city does Ann live?", "include_facts": True})
    body = answer.body
    assert body["is_answered"], body
    (citation,) = body["citations"]
    assert citation["fact"]["object"] == "Rome"
    source = next(s for s in body["sources"] if s["id"] == citation["id"])
    start, end = citation["start_char_index"], citation["end_char_index"]
    assert source["content"][start:end] == citation["cited_text"]
    assert "Rome" in body["answer"]
    assert body["grounded"], body["uncertainties"]


# -- one tenant, another model -----------------------------------------------------------


def test_another_tenant_finds_nothing(people: Api, api_of: Callable[..., Api], tenant: Namespace):
    stranger = api_of(tenant)
    assert search(stranger, "Where does Ann live?") == []
    assert stranger.query("Where does Ann live?", include_facts=True).body["results"] == []
    fact = search(people, subjects=["Ann"])[0]
    assert stranger.get(f"facts/{fact['id']}").status == 404


def test_a_fact_is_stored_and_found_by_words_while_the_model_is_down(
    behaving: Callable[..., Namespace], api_of: Callable[..., Api]
):
    api = api_of(behaving("broken"))
    state(api, "Ann", "lives in", "Oslo")
    answer = api.post("facts/search", {"query": "Ann lives"})
    assert [fact["object"] for fact in answer.body["results"]] == ["Oslo"]
    assert answer.body["fallbacks"][0].startswith("facts_by_words")


def test_every_profile_has_vectors_of_its_own(
    api: Api, tenant: Namespace, small_profile: Any, build: Callable[[], None]
):
    state(api, "Ann", "lives in", "Oslo")
    switching.start(tenant.pk, small_profile)
    state(api, "Bob", "lives in", "Rome")
    build()
    with operator():
        counts = [
            FactVector.objects.filter(namespace=tenant, profile=profile).count()
            for profile in (tenant.active_profile, small_profile)
        ]
    assert counts == [2, 2]
    switching.switch(tenant.pk)
    assert search(api, "Bob lives")[0]["object"] == "Rome"
    switching.reclaim(tenant.pk)
    switching.sweep(tenant.pk)
    with operator():
        left = FactVector.objects.filter(namespace=tenant).values_list("profile", flat=True)
        assert set(left) == {small_profile.pk}
