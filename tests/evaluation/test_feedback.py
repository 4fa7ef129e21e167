"""POST and GET /feedback: what is taken, what is kept, what is refused."""

import time
import uuid
from collections.abc import Callable
from datetime import timedelta
from threading import Thread
from typing import Any

import pytest
from django.db import connections
from django.utils import timezone

from documents.models import Chunk, Document, IndexProfile, Namespace
from documents.reindex import switching
from evaluation.golden import feedback
from evaluation.models import Feedback, SelectedPassage
from ragsite.database.tenancy import namespace, operator
from retrieval import query_log
from retrieval.models import QueryLog

from ..client import Answer, Api
from ..threads import at_once

LIGHTS = "how many lights does the harbour have?"


@pytest.fixture
def asked(api: Api, library: dict[str, Document], monkeypatch: pytest.MonkeyPatch) -> Answer:
    """Its line waits to be written for longer than any request may take."""
    monkeypatch.setattr(query_log, "BATCH_SECONDS", 600.0)
    return api.query(LIGHTS, filters={"source_types": ["md"]})


def chunk_of(answer: Answer, rank: int = 0) -> str:
    return str(answer.body["results"][rank]["chunk_id"])


def field_codes(answer: Answer) -> list[tuple[str, str]]:
    return [(e["field"], e["code"]) for e in answer.body["error"]["details"]["fields"]]


def test_a_click_within_the_second_is_taken_and_tells_what_was_chosen(
    api: Api, asked: Answer, tenant: Namespace
):
    chosen = chunk_of(asked)
    wish = {"query_id": asked.body["query_id"], "selected_chunk_ids": [chosen, chosen]}
    answer = api.post("feedback", wish)
    assert answer.status == 201
    said = answer.body
    assert (said["query_id"], said["query"]) == (asked.body["query_id"], LIGHTS)
    assert said["filters"] == {"source_types": ["md"]}
    assert (said["useful"], said["comment"]) == (None, "")
    assert said["selected_chunk_ids"] == [chosen]
    (passage,) = said["selected"]
    hit = asked.body["results"][0]
    assert passage["chunk_id"] == chosen
    assert (passage["document_id"], passage["source_uri"]) == (
        hit["document_id"],
        hit["source_uri"],
    )
    text = api.get(f"documents/{hit['document_id']}/text").body["text"]
    assert text[passage["span"]["start"] : passage["span"]["end"]] == passage["quote"]
    assert passage["quote"] in hit["content"]
    assert said["request_id"] == answer.headers["X-Request-ID"]
    second = {"query_id": asked.body["query_id"], "useful": False, "comment": "Which harbour?"}
    assert api.post("feedback", second).status == 201
    with namespace(tenant.pk):
        line = QueryLog.objects.get()
        assert line.feedback.count() == 2


def test_every_request_has_its_own_id_also_out_of_the_cache(api: Api, asked: Answer, settings: Any):
    again = api.query(LIGHTS, filters={"source_types": ["md"]})
    assert again.body["diagnostics"]["cache"] == "hit"
    assert again.body["query_id"] != asked.body["query_id"]
    for answer in (asked, again):
        assert (
            api.post("feedback", {"query_id": answer.body["query_id"], "useful": True}).body[
                "query_id"
            ]
            == (answer.body["query_id"])
        )
    settings.QUERY_LOG_DAYS = 0
    assert api.query(LIGHTS).body["query_id"] is None


def test_a_line_that_is_dropped_has_no_id(api: Api, library: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(query_log, "MAX_WAITING", 0)
    assert api.query(LIGHTS).body["query_id"] is None


def test_a_line_that_another_process_is_about_to_write_is_waited_for(
    api: Api, tenant: Namespace, other_tenant: Namespace
):
    """As when the next request of the same client goes to another worker of the web server."""
    line = QueryLog(id=query_log._new_id(), namespace=tenant, query="late", hits=0, cache="miss")

    def write() -> None:
        time.sleep(0.4)
        with namespace(tenant.pk):
            line.save(force_insert=True)
        connections.close_all()

    writer = Thread(target=write)
    writer.start()
    try:
        assert api.post("feedback", {"query_id": str(line.pk), "useful": True}).status == 201
    finally:
        writer.join()


def test_a_question_can_be_named_by_its_text_where_there_is_no_log(
    api: Api, library: Any, settings: Any
):
    settings.QUERY_LOG_DAYS = 0
    chosen = chunk_of(api.query(LIGHTS))
    wish = {"query_id": None, "query": LIGHTS, "filters": {"tags": ["sea"]}, "useful": True}
    answer = api.post("feedback", wish | {"selected_chunk_ids": [chosen]})
    assert answer.status == 201
    assert (answer.body["query_id"], answer.body["query"]) == (None, LIGHTS)
    assert answer.body["filters"] == {"tags": ["sea"]}


@pytest.mark.parametrize(
    ("wish", "field", "code"),
    [
        ({"useful": True}, "", "no_question"),
        ({"query_id": None, "useful": True}, "", "no_question"),
        ({"query": "x", "query_id": str(uuid.uuid4()), "useful": True}, "", "two_questions"),
        ({"query_id": str(uuid.uuid4()), "filters": {}, "useful": True}, "", "two_questions"),
        ({"query": "x"}, "", "nothing_said"),
        (
            {"query": "x", "selected_chunk_ids": [], "comment": " ", "useful": None},
            "",
            "nothing_said",
        ),
        ({"query": " ", "useful": True}, "query", "blank"),
        ({"query": "x" * 4001, "useful": True}, "query", "max_length"),
        ({"query": "x", "comment": "x" * 4001}, "comment", "max_length"),
        ({"query": "x", "useful": "perhaps"}, "useful", "invalid"),
        ({"query": "x", "filters": {"colour": 1}, "useful": True}, "filters.colour", "invalid"),
        ({"query": "x", "selected_chunk_ids": ["first"]}, "selected_chunk_ids.0", "invalid"),
        (
            {"query": "x", "selected_chunk_ids": [str(uuid.uuid4())] * 101},
            "selected_chunk_ids",
            "max_length",
        ),
        ({"query_id": "first", "useful": True}, "query_id", "invalid"),
        ({"query": "x", "comment": "half a \ud83d"}, "comment", "surrogate_characters_not_allowed"),
        ({"query": "x", "usefull": True}, "usefull", "invalid"),
    ],
)
def test_what_is_refused_and_how(wish: dict[str, Any], field: str, code: str, api: Api):
    answer = api.post("feedback", wish)
    assert (answer.status, answer.code) == (422, "invalid_request")
    assert field_codes(answer)[0] == (field, code)
    with operator():
        assert not Feedback.objects.exists()


def test_another_tenants_question_and_chunks_are_as_unknown_as_those_that_nobody_has(
    api: Api,
    asked: Answer,
    api_of: Callable[..., Api],
    other_tenant: Namespace,
):
    stranger = api_of(other_tenant)
    query_log.flush()
    for query_id in (asked.body["query_id"], str(uuid.uuid4())):
        answer = stranger.post("feedback", {"query_id": query_id, "useful": True})
        assert (answer.status, answer.code) == (422, "unknown_query")
    nobodys = str(uuid.uuid4())
    wish = {"query": LIGHTS, "selected_chunk_ids": [chunk_of(asked), nobodys]}
    answer = stranger.post("feedback", wish)
    assert (answer.status, answer.code) == (422, "unknown_chunks")
    assert answer.body["error"]["details"] == {"chunk_ids": [chunk_of(asked), nobodys]}
    answer = api.post("feedback", wish)
    assert answer.body["error"]["details"] == {"chunk_ids": [nobodys]}
    assert nobodys in answer.body["error"]["message"]
    api.post("feedback", {"query_id": asked.body["query_id"], "useful": True})
    assert stranger.get("feedback").body["results"] == []
    with operator():
        assert Feedback.objects.count() == 1


def test_who_may_search_may_say_and_who_may_curate_may_read(
    api_of: Callable[..., Api], tenant: Namespace
):
    reader, writer = api_of(tenant, ("read",)), api_of(tenant, ("write",))
    assert reader.post("feedback", {"query": LIGHTS, "comment": "Good."}).status == 201
    assert (reader.get("feedback").status, reader.get("feedback").code) == (
        403,
        "insufficient_scope",
    )
    assert writer.get("feedback").body["results"][0]["comment"] == "Good."


def test_feedback_is_listed_in_pages_and_filtered(api: Api, tenant: Namespace):
    for number, useful in enumerate((True, False, None, True)):
        wish = {"query": f"question {number}", "useful": useful, "comment": "said"}
        assert api.post("feedback", wish).status == 201
    with operator():
        old = Feedback.objects.filter(query="question 0")
        old.update(created_at=timezone.now() - timedelta(days=3))

    def listed(asked: str = "") -> list[str]:
        return [said["query"] for said in api.get(f"feedback{asked}").body["results"]]

    assert listed() == ["question 3", "question 2", "question 1", "question 0"]
    first = api.get("feedback?limit=3").body
    cursor = first["next"].partition("cursor=")[2].partition("&")[0]
    assert len(first["results"]) == 3
    assert listed(f"?limit=3&cursor={cursor}") == ["question 0"]
    yesterday = (timezone.now() - timedelta(days=1)).date().isoformat()
    assert listed(f"?useful=true&since={yesterday}") == ["question 3"]
    assert listed("?useful=false") == ["question 1"]
    assert listed("?useful=unsaid") == ["question 2"]
    for wrong in ("useful=maybe", "since=yesterday", "colour=red", "useful=true%00"):
        assert api.get(f"feedback?{wrong}").status == 422


def test_it_outlives_the_log_and_the_chunks_but_not_its_documents_words(
    api: Api,
    asked: Answer,
    tenant: Namespace,
    small_profile: IndexProfile,
    build: Callable[[], None],
):
    chosen = chunk_of(asked)
    wish = {"query_id": asked.body["query_id"], "selected_chunk_ids": [chosen], "useful": True}
    before = api.post("feedback", wish).body
    with operator():
        QueryLog.objects.update(created_at=timezone.now() - timedelta(days=400))
    query_log.delete_old_rows()
    switching.start(tenant.pk, small_profile)
    build()
    switching.switch(tenant.pk)
    switching.reclaim(tenant.pk)
    switching.sweep(tenant.pk)
    with operator():
        assert not Chunk.objects.filter(pk=chosen).exists()
    (after,) = api.get("feedback").body["results"]
    assert after == {**before, "query_id": None}
    assert after["selected"][0]["quote"]
    api.delete(f"documents/{after['selected'][0]['document_id']}")
    (left,) = api.get("feedback").body["results"]
    assert (left["query"], left["selected"], left["selected_chunk_ids"]) == (LIGHTS, [], [chosen])


def test_it_goes_with_its_namespace(
    api: Api, asked: Answer, tenant: Namespace, library: dict[str, Document]
):
    wish = {"query_id": asked.body["query_id"], "selected_chunk_ids": [chunk_of(asked)]}
    assert api.post("feedback", wish).status == 201
    for document in library.values():
        api.delete(f"documents/{document.pk}")
    with operator():
        Namespace.objects.filter(pk=tenant.pk).delete()
        assert not Feedback.objects.exists()
        assert not SelectedPassage.objects.exists()


def test_a_document_deleted_in_the_very_moment_is_no_fault_of_ours(
    api: Api, asked: Answer, monkeypatch: pytest.MonkeyPatch
):
    read = feedback._chunks
    document = asked.body["results"][0]["document_id"]

    def and_then_delete(chunk_ids: Any) -> Any:
        found = read(chunk_ids)
        at_once(1, lambda _: api.delete(f"documents/{document}"))
        return found

    monkeypatch.setattr(feedback, "_chunks", and_then_delete)
    answer = api.post("feedback", {"query": LIGHTS, "selected_chunk_ids": [chunk_of(asked)]})
    assert (answer.status, answer.code) == (422, "unknown_chunks")


def test_erasing_a_subject_from_memory_erases_feedback_that_names_it(
    api: Api, library: dict[str, Document], tenant: Namespace, rows: Callable[..., Any]
):
    api.post("facts", {"subject": "Zerlina", "predicate": "pays", "object": "crowns"})
    answer = api.query("what does a mooring cost Zerlina?")
    click = {"selected_chunk_ids": [chunk_of(answer)]}
    assert api.post("feedback", {"query_id": answer.body["query_id"], **click}).status == 201
    commented = {"query": LIGHTS, "useful": False, "comment": "ask zerlina, please"}
    assert api.post("feedback", commented).status == 201
    kept = {"query": "how many crowns does Zerlinas mooring cost?", **click}
    assert api.post("feedback", kept).status == 201
    receipt = api.post("facts/erase", {"subject": "Zerlina"}).body
    assert (receipt["facts"], receipt["queries"]) == (1, 3)  # the line of the log is the third
    assert [row.query for row in rows(tenant, Feedback)] == [kept["query"]]
    assert len(rows(tenant, SelectedPassage)) == 1
