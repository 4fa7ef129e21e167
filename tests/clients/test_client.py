"""The client against a whole service: sync and async, from the upload to the deletion."""

import asyncio
import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from ragsite_client import (
    ApiError,
    AsyncClient,
    Client,
    Delta,
    Finished,
    InvalidRequest,
    NewFact,
    NewTurn,
    NotAuthenticated,
    NotFound,
    PermissionDenied,
    Sources,
)

from tests.project.service import Service

KILN = """# Kiln

## Firing

Heat the kiln to 1240 degrees for nine hours. Let it cool for a day – never open it early.

## Glazing

The blue glaze 🫐 needs two coats.
"""
QUESTION = "How hot must the kiln be?"


@pytest.fixture(scope="module")
def client(service: Service) -> Iterator[Client]:
    with Client(service.url, service.key) as client:
        yield client


@pytest.fixture(scope="module")
def kiln(client: Client, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The id of a document that was uploaded from a file."""
    path: Path = tmp_path_factory.mktemp("library") / "kiln.md"
    path.write_text(KILN)
    reports: list[tuple[int, int]] = []
    taken = client.ingest_files(
        path,
        tags=["pottery, hot"],
        metadata={"year": 2026},
        wait=120,
        on_progress=lambda sent, total: reports.append((sent, total)),
    )
    assert (taken.failed, taken.indexed, taken.error) == (0, 1, None)
    assert reports[-1] == (len(KILN.encode()), len(KILN.encode()))
    (result,) = taken.results
    assert (result.status, result.source_uri) == ("ready", "upload:kiln.md")
    assert result.document_id
    return result.document_id


def test_quotes_are_the_stored_text(client: Client, kiln: str):
    text = client.document_text(kiln).text
    found = client.query(QUESTION, k=3, filters={"document_ids": [kiln]}, highlight=True)
    assert found.results
    for hit in found.results:
        assert text[hit.span.start : hit.span.end] == hit.content
        assert hit.metadata == {"year": 2026}
    answer = client.answer(QUESTION, filters={"document_ids": [kiln]})
    assert answer.is_answered
    assert answer.citations
    for citation in answer.citations:
        cited = text[citation.start_char_index : citation.end_char_index]
        assert cited == citation.cited_text
        assert hashlib.sha256(cited.encode()).hexdigest() == citation.checksum


def test_a_streamed_answer_is_the_whole_one_in_pieces(client: Client, kiln: str):
    with client.stream_answer(QUESTION, filters={"document_ids": [kiln]}) as stream:
        events = list(stream)
    assert isinstance(events[0], Sources)
    *_, last = events
    assert isinstance(last, Finished)
    assert "".join(e.text for e in events if isinstance(e, Delta)) == last.answer.answer
    assert stream.answer() == last.answer
    with client.stream_answer(messages=[{"role": "user", "content": QUESTION}]) as stream:
        assert "1240" in "".join(stream.text())


def test_feedback(client: Client, kiln: str):
    found = client.query(QUESTION, filters={"document_ids": [kiln]})
    chosen = [found.results[0].chunk_id]
    given = client.feedback(query_id=found.query_id, selected_chunk_ids=chosen, useful=True)
    assert (given.query, given.useful, given.selected_chunk_ids) == (QUESTION, True, chosen)


def test_a_job_is_followed_until_it_ends(client: Client):
    taken = client.ingest_text("Clay is dug by the river.", source_uri="test:clay")
    (result,) = taken.results
    assert result.job_id
    *_, last = client.job_progress(result.job_id)
    assert last.state == "succeeded"
    assert client.job(result.job_id).state == "succeeded"
    again = client.ingest_text("Clay is dug by the river.", source_uri="test:clay", wait=30)
    assert again.results[0].duplicate


def test_waiting_goes_on_where_the_server_stops(client: Client, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("ragsite_client.ingestion.MAX_SERVER_WAIT", 0.0)
    taken = client.ingest_texts(
        [
            {"content": "Glaze is ground glass.", "source_uri": "test:glaze"},
            {"content": "Wheels turn at 240 rpm.", "source_uri": "test:wheel", "title": "Wheels"},
        ],
        wait=120,
    )
    assert [one.status for one in taken.results] == ["ready", "ready"]
    assert (taken.indexed, taken.failed) == (2, 0)
    assert all(one.chunks_count == 1 for one in taken.results)


def test_documents_are_listed_page_by_page(client: Client, kiln: str):
    tagged = list(client.documents(tag="pottery, hot"))
    assert [document.id for document in tagged] == [kiln]
    assert client.document(kiln).title == "Kiln"
    assert kiln in {document.id for document in client.documents(status="ready")}


def test_a_deleted_document_is_gone(client: Client):
    taken = client.ingest_text("To be forgotten.", wait=120)
    document_id = taken.results[0].document_id
    assert document_id
    assert client.delete_document(document_id).chunks == 1
    with pytest.raises(NotFound) as raised:
        client.document(document_id)
    assert raised.value.code == "not_found"
    assert raised.value.request_id


def test_refusals_are_exceptions_with_names(client: Client, service: Service):
    with pytest.raises(InvalidRequest) as invalid:
        client.query("q", k=0)
    assert "k" in invalid.value.fields
    with pytest.raises(InvalidRequest), client.stream_answer(QUESTION, k=0):
        pass
    with Client(service.url, "rs_nobody_has") as nobody, pytest.raises(NotAuthenticated):
        nobody.usage()
    made = service.command("api_key", "create", "--namespace", "default", "--scopes", "read")
    with Client(service.url, made.stdout.strip()) as reader:
        assert reader.usage().namespace == "default"
        with pytest.raises(PermissionDenied):
            reader.ingest_text("No.")


def test_turns_are_remembered_once_found_and_deleted(client: Client, service: Service):
    turn: NewTurn = {
        "role": "user",
        "speaker": "Ada",
        "content": "We moved our pottery to Utrecht.",
        "at": "2026-03-01T10:00:00Z",
    }
    first = client.remember_turns([turn], session="s-1", user="u-1", wait=120)
    assert (first.added, first.indexed) == (1, True)
    assert client.remember_turns([turn], session="s-1", user="u-1").duplicates == 1
    (hit,) = client.search_memories("Where is the pottery?", user="u-1").results
    assert hit.content == "Ada: We moved our pottery to Utrecht."
    (said,) = client.memories(session="s-1")
    assert said.content == turn["content"]
    assert client.delete_turn(str(first.turns[0].turn_id)).turns == 1
    assert list(client.memories(session="s-1")) == []

    async def again() -> int:
        async with AsyncClient(service.url, service.key) as other:
            await other.remember_turns([turn], session="s-2")
            assert [said.content async for said in other.memories(session="s-2")]
            return (await other.delete_session("s-2")).turns

    assert asyncio.run(again()) == 1


def test_the_asynchronous_client_does_the_same(service: Service, kiln: str):
    async def use() -> None:
        async with AsyncClient(service.url, service.key) as client:
            taken = await client.ingest_files(("a.md", b"# A\n\nAsh is white."), wait=120)
            (result,) = taken.results
            assert result.status == "ready"
            assert result.document_id
            assert result.job_id
            assert [job.state async for job in client.job_progress(result.job_id)] == ["succeeded"]
            assert [d.id async for d in client.documents(tag="pottery, hot")] == [kiln]
            found, answer = await asyncio.gather(client.query("ash", k=1), client.answer(QUESTION))
            assert found.results[0].content.endswith("Ash is white.")
            async with await client.stream_answer(QUESTION) as stream:
                assert "".join([text async for text in stream.text()])
                assert (await stream.answer()).is_answered == answer.is_answered
            await client.delete_document(result.document_id)
            with pytest.raises(NotFound):
                await client.document_text(result.document_id)

    asyncio.run(use())


def test_facts_are_stated_found_corrected_and_erased(client: Client):
    rome: NewFact = {
        "subject": "Ada",
        "predicate": "lives in",
        "object": "Rome",
        "user": "u-9",
        "valid_from": "2024-01-01",
        "statement_id": "f-1",
    }
    stated = client.state_fact(rome)
    assert (stated.outcome, stated.fact.object) == ("created", "Rome")
    assert client.state_fact(rome).outcome == "known"
    moved: NewFact = {**rome, "object": "Oslo", "valid_from": "2025-01-01", "statement_id": "f-2"}
    likes: NewFact = {"subject": "Ada", "predicate": "likes", "object": {"tea": 2}, "user": "u-9"}
    oslo, tea = client.state_facts([moved, likes])
    assert [str(each) for each in oslo.closed] == [str(stated.fact.id)]
    (found,) = client.search_facts("Where does Ada live?", user="u-9", k=1).results
    assert found.object == "Oslo"
    assert found.score == pytest.approx(found.relevance * found.certainty, abs=0.01)
    assert len(client.search_facts(user="u-9").results) == 2
    assert client.search_facts().results
    assert [each.object for each in client.fact_history("Ada", predicate="lives in")] == [
        "Rome",
        "Oslo",
    ]
    held = list(client.facts(subject="Ada", as_of="2024-06-01"))
    assert [each.object for each in held] == ["Rome"]
    assert client.confirm_fact(str(tea.fact.id), source_uri="chat:1").outcome == "confirmed"
    assert client.change_fact(str(tea.fact.id), certainty=0.4, tags=["taste"]).certainty == 0.4
    assert client.fact(str(tea.fact.id)).tags == ["taste"]
    assert client.retract_fact(str(tea.fact.id)).retracted_at
    receipt = client.erase_facts(user="u-9")
    assert receipt.facts == 3
    assert list(client.facts(subject="Ada")) == []


def test_facts_in_asynchronous_code(client: Client, service: Service):
    fact: NewFact = {"subject": "Bo", "predicate": "speaks", "object": "Danish", "user": "u-8"}

    async def tell() -> list[str]:
        async with AsyncClient(service.url, service.key) as other:
            await other.state_fact(fact)
            assert (await other.search_facts("What does Bo speak?", user="u-8")).results
            listed = [each.text async for each in other.facts(user="u-8")]
            await other.erase_facts(subject="Bo")
            return listed

    (text,) = asyncio.run(tell())
    assert "Bo speaks Danish" in text


def test_without_a_language_model_proposals_are_refused(client: Client):
    with pytest.raises(ApiError) as refused:
        client.propose_facts("Ada lives in Oslo.")
    assert refused.value.code == "model_not_configured"
