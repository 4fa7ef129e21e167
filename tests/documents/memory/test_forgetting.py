"""Retraction keeps the history; erasure leaves a receipt and nothing else."""

from collections.abc import Callable
from typing import Any

from django.db import connections

from documents.models import FactErasure, Namespace
from ragsite.database.tenancy import namespace
from retrieval import query_log
from tests.client import Api

CANARY = "Zyxwvut"


def state(api: Api, subject: str, predicate: str, value: Any, **more: Any) -> dict[str, Any]:
    body = {"subject": subject, "predicate": predicate, "object": value, **more}
    fact: dict[str, Any] = api.post("facts", body).body["results"][0]["fact"]
    return fact


def places_of(text: str) -> list[str]:
    """Every table that has the text anywhere, as its owner sees it."""
    owner = connections["owner"]
    found = []
    with owner.cursor() as cursor:
        for table in owner.introspection.table_names(cursor):
            cursor.execute(
                f'SELECT count(*) FROM "{table}" row WHERE row::text ILIKE %s', [f"%{text}%"]
            )
            if cursor.fetchone()[0]:
                found.append(table)
    return found


def test_erasing_a_subject_leaves_no_trace_of_it(api: Api, tenant: Namespace):
    state(api, CANARY, "lives in", "Oslo", valid_from="2020-01-01", certainty=0.5)
    state(api, CANARY, "lives in", "Oslo", certainty=0.5)
    moved = state(api, CANARY, "lives in", "Rome")
    api.post(f"facts/{moved['id']}/retract")
    state(api, "Acme", "ceo", f"{CANARY.upper()}.", tags=["board"])
    kept = state(api, "Acme", "ceo", "Bob", valid_from="2019-01-01")
    api.post("fact-aliases", {"alias": "Zed", "name": CANARY})
    state(api, "Zed", "likes", "tea")
    api.post("facts/search", {"query": f"Where does {CANARY} live?"})
    api.query(f"Where does {CANARY} live?", include_facts=True)
    query_log.flush()
    assert "documents_factstatement" in places_of(CANARY)
    receipt = api.post("facts/erase", {"subject": CANARY.lower()})
    assert receipt.status == 200, receipt.body
    assert places_of(CANARY) == []
    assert receipt.body["facts"] >= 4
    assert receipt.body["queries"] == 1
    listed = api.get("fact-erasures").body["results"]
    assert [one["id"] for one in listed] == [receipt.body["id"]]
    with namespace(tenant.pk):
        assert CANARY not in str(vars(FactErasure.objects.get()))
    held = api.get("facts?as_of=now").body["results"]
    assert [fact["id"] for fact in held] == [kept["id"]]  # what it had closed goes on


def test_the_answer_to_an_erasure_names_the_tables_that_still_say_something(
    api: Api, work: Callable[[], int]
):
    staff = f"name,town,boss\n{CANARY},Oslo,Bob\nBob,Rome,\n"
    api.upload(("staff.csv", staff), rows_as_facts="true")
    api.upload(("teams.csv", f"team,lead\nred,{CANARY.upper()}\n"), rows_as_facts="true")
    work()
    api.post("fact-aliases", {"alias": "Zed", "name": CANARY})
    state(api, CANARY, "likes", "tea")
    answer = api.post("facts/erase", {"subject": "zed"}).body
    assert answer["facts"] == 1
    left = answer["left_in_tables"]
    named = [(one["source_uri"], one["facts"]) for one in left["documents"]]
    assert (left["facts"], named) == (3, [("upload:staff.csv", 2), ("upload:teams.csv", 1)])
    (receipt,) = api.get("fact-erasures").body["results"]
    assert "left_in_tables" not in receipt  # nothing of what was erased is kept
    for one in left["documents"]:
        api.delete(f"documents/{one['document_id']}")
    again = api.post("facts/erase", {"subject": CANARY}).body
    assert again["left_in_tables"] == {"facts": 0, "documents": []}


def test_questions_that_name_it_otherwise_are_forgotten_too(api: Api):
    state(api, CANARY, "note", {"nick": "Quibblet", "seen": ["at the Marmalade club", 7]})
    api.post("fact-aliases", {"alias": "Grandma Wump", "name": CANARY})
    asked = ("Who is grandma wump?", "Was quibblet there?", "What is at the Marmalade club?")
    for query in (*asked, "Is Wumpus there?", f"{CANARY}s"):
        api.query(query, include_facts=True)
    query_log.flush()
    assert api.post("facts/erase", {"subject": CANARY}).body["queries"] == len(asked)
    api.query(f"And {CANARY}?")  # asked after its facts had gone
    again = api.post("facts/erase", {"subject": CANARY}).body
    assert (again["facts"], again["queries"]) == (0, 1)


def test_what_another_source_states_stays(api: Api):
    first = state(api, "Ann", "likes", "tea", certainty=0.5, source_uri="a")
    state(api, "Ann", "likes", "Tea", certainty=0.5, source_uri="b")
    state(api, "Ann", "likes", "jazz", source_uri="a")
    assert api.post("facts/erase", {"source_uri": "a"}).body["statements"] == 2
    (left,) = api.get("facts").body["results"]
    assert (left["id"], left["object"], left["certainty"]) == (first["id"], "Tea", 0.5)
    assert [one["source_uri"] for one in left["provenances"]] == ["b"]


def test_one_fact_and_one_users_memory_are_erased(api: Api):
    mine = state(api, "me", "likes", "tea", user="ann")
    state(api, "me", "likes", "jazz", user="ann")
    state(api, "me", "likes", "tea", user="bob")
    assert api.delete(f"facts/{mine['id']}").body["facts"] == 1
    assert api.get(f"facts/{mine['id']}").status == 404
    assert api.post("facts/erase", {"user": "ann"}).body["facts"] == 1
    assert [fact["user"] for fact in api.get("facts").body["results"]] == ["bob"]


def test_exactly_one_selection_is_taken(api: Api):
    for body in ({}, {"user": "ann", "subject": "Ann"}, {"ids": []}, {"user": ""}):
        refused = api.post("facts/erase", body)
        assert (refused.status, refused.code) == (422, "invalid_request"), body


def test_retracting_keeps_the_history(api: Api):
    oslo = state(api, "Ann", "lives in", "Oslo", valid_from="2020-01-01")
    rome = state(api, "Ann", "lives in", "Rome", valid_from="2024-01-01")
    retracted = api.post(f"facts/{rome['id']}/retract").body
    assert retracted["retracted_at"]
    assert api.post(f"facts/{rome['id']}/retract").code == "fact_conflict"
    history = api.get("facts/history?subject=ann&predicate=residence").body["results"]
    assert [(one["id"], bool(one["retracted_at"])) for one in history] == [
        (oslo["id"], False),
        (rome["id"], True),
    ]
    assert history[0]["valid_to"] is None


def test_a_correction_by_hand_moves_the_neighbours(api: Api):
    oslo = state(api, "Ann", "lives in", "Oslo", valid_from="2020-01-01")
    rome = state(api, "Ann", "lives in", "Rome", valid_from="2024-01-01")
    changed = api.patch(f"facts/{rome['id']}", {"valid_from": "2023-01-01", "certainty": 0.4})
    assert (changed.body["valid_from"], changed.body["certainty"]) == ("2023-01-01T00:00:00Z", 0.4)
    assert api.get(f"facts/{oslo['id']}").body["valid_to"] == "2023-01-01T00:00:00Z"
    ended = api.patch(f"facts/{rome['id']}", {"valid_to": "2025-01-01", "tags": ["home"]}).body
    assert (ended["valid_to"], ended["tags"]) == ("2025-01-01T00:00:00Z", ["home"])
    assert api.get("facts?as_of=now").body["results"] == []
    refused = api.patch(f"facts/{rome['id']}", {"valid_to": "2022-01-01"})
    assert (refused.status, refused.code) == (409, "fact_conflict")


def test_a_rule_and_an_alias_work_facts_out_again(api: Api):
    state(api, "IBM", "sponsor", "a", valid_from="2020-01-01")
    state(api, "Big Blue", "sponsor", "b", valid_from="2022-01-01")
    api.post("fact-aliases", {"alias": "big blue", "name": "I.B.M."})
    alias = api.post("fact-aliases", {"alias": "Big Blue", "name": "IBM"}).body
    assert len(api.get("facts?subject=IBM&as_of=now").body["results"]) == 2
    rule = api.post("fact-rules", {"predicate": "Sponsor", "is_single": True}).body
    assert [f["object"] for f in api.get("facts?as_of=now").body["results"]] == ["b"]
    assert api.post("fact-aliases", {"alias": "IBM", "name": "Big Blue"}).code == "fact_conflict"
    assert api.delete(f"fact-rules/{rule['id']}").status == 204
    assert len(api.get("facts?as_of=now").body["results"]) == 2
    assert api.delete(f"fact-aliases/{alias['id']}").status == 204
    assert len(api.get("facts?subject=IBM&as_of=now").body["results"]) == 1


def test_rows_of_tables_cannot_be_changed_by_hand(api: Api, work: Callable[[], int]):
    api.upload(("a.csv", "sku,price\nA1,12\n"), rows_as_facts="true")
    work()
    (row,) = api.get("facts").body["results"]
    for act in ("retract", "confirm", "approve", "reject"):
        assert api.post(f"facts/{row['id']}/{act}", {}).code == "fact_conflict"
    assert api.delete(f"facts/{row['id']}").code == "fact_conflict"
