"""/v1/responses with the official client, unchanged, over a real server."""

import asyncio
import uuid
from collections.abc import Callable
from typing import Any

import openai
import pytest

from documents.collections import editing, membership
from documents.language_models.base import LanguageModelBrokeOff
from documents.models import Document, Namespace
from ragsite.database.tenancy import namespace
from retrieval.answering import answer as pipeline

from ... import chat_server
from ...client import Api
from ...project.answer_site import Site
from ..scripted_pipeline import Script, failing
from .citations import check_place, reply
from .conftest import client_options

QUESTION = "How high does the tower stand above the rock?"
TWO = ("The tower stands forty metres above the rock", "The lamp turned once in ten seconds")
RESULTS: Any = ["file_search_call.results"]


@pytest.fixture
def store(library: Api, tenant: Namespace) -> str:
    """A vector store with the lighthouse alone."""
    with namespace(tenant.pk):
        made, _ = editing.create(tenant.pk, editing.CollectionDescription(name="coast"))
        membership.add(made, {Document.objects.get(source_uri="upload:lighthouse.md").pk: {}})
    return f"vs_{made.pk.hex}"


def tool(store: str, **options: Any) -> list[Any]:
    return [{"type": "file_search", "vector_store_ids": [store], **options}]


def annotations(response: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = response.to_dict()["output"][-1]["content"][0]["annotations"]
    return found


def test_a_response_cites_files_and_addresses(openai_client: openai.OpenAI, library: Api):
    response = openai_client.responses.create(model="ragsite", input=QUESTION)
    assert (response.object, response.status, response.error) == ("response", "completed", None)
    assert [item.type for item in response.output] == ["message"]
    assert "forty metres" in response.output_text
    found = annotations(response)
    assert {one["type"] for one in found} == {"file_citation", "url_citation"}
    for one in found:
        check_place(one, library)
        if one["type"] == "file_citation":
            assert one["file_id"] == f"file-{uuid.UUID(one['document_id']).hex}"
            assert one["filename"] == one["source_uri"].removeprefix("upload:")


def test_file_search_answers_from_its_vector_stores_only(
    openai_client: openai.OpenAI, store: str, library: Api
):
    outside = "When do fishing boats leave the harbour?"
    for question in (QUESTION, outside):
        response = openai_client.responses.create(
            model="ragsite", input=question, tools=tool(store, max_num_results=2), include=RESULTS
        )
        search = response.output[0].to_dict()
        assert [item.type for item in response.output] == ["file_search_call", "message"]
        assert (search["status"], search["queries"]) == ("completed", [question])
        assert {result["filename"] for result in search["results"]} <= {"lighthouse.md"}
        assert len(search["results"]) <= 2
    whole = openai_client.responses.create(model="ragsite", input=QUESTION, tools=tool(store))
    assert whole.output[0].to_dict()["results"] is None
    elsewhere = openai_client.responses.create(model="ragsite", input=outside)
    assert {one["source_uri"] for one in annotations(elsewhere)} == {"upload:harbour.md"}


def test_file_search_filters_by_attributes_and_shows_them(
    openai_client: openai.OpenAI, store: str, library: Api
):
    ids = openai_client.vector_stores.files.list(store).data
    openai_client.vector_stores.files.update(
        ids[0].id, vector_store_id=store, attributes={"year": 1874}
    )

    def results(value: int, **options: Any) -> list[dict[str, Any]]:
        filters = {"type": "eq", "key": "year", "value": value}
        asked: Any = {
            "model": "ragsite",
            "input": QUESTION,
            "tools": tool(store, filters=filters, **options),
            "include": RESULTS,
        }
        with openai_client.responses.stream(**asked) as stream:
            streamed = stream.get_final_response()
        whole = openai_client.responses.create(**asked)
        found, same = (one.output[0].to_dict()["results"] for one in (whole, streamed))
        assert found == same
        return list(found)

    assert results(1900) == []
    ranking = {
        "ranker": "auto",
        "hybrid_search": {"embedding_weight": 0, "text_weight": 1},
    }
    for found in (results(1874), results(1874, ranking_options=ranking)):
        assert found
        assert all(one["attributes"] == {"year": 1874} for one in found)


ORDER = [
    "response.created",
    "response.in_progress",
    "response.output_item.added",
    "response.file_search_call.in_progress",
    "response.file_search_call.searching",
    "response.file_search_call.completed",
    "response.output_item.done",
    "response.output_item.added",
    "response.content_part.added",
    "response.output_text.delta",
    "response.output_text.annotation.added",
    "response.output_text.done",
    "response.content_part.done",
    "response.output_item.done",
    "response.completed",
]


def test_events_come_in_the_order_of_the_accumulator(
    openai_client: openai.OpenAI, store: str, library: Api, model: chat_server.Site
):
    model.reply_with(reply(*TWO))
    raw = list(
        openai_client.responses.create(
            model="ragsite-chat", input=QUESTION, tools=tool(store), stream=True
        )
    )
    assert [event.sequence_number for event in raw] == list(range(len(raw)))
    names = [event.type for event in raw]
    pieces = ("response.output_text.delta", "response.output_text.annotation.added")
    written = names.index(pieces[0])
    assert names[:written] == ORDER[:9]
    assert names[-4:] == ORDER[-4:]
    assert set(names[written:-4]) == set(pieces)
    text = "".join(event.delta for event in raw if event.type == "response.output_text.delta")
    with openai_client.responses.stream(
        model="ragsite-chat", input=QUESTION, tools=tool(store)
    ) as stream:
        for _ in stream:
            pass
        final = stream.get_final_response()
    assert final.output_text == text
    assert len(annotations(final)) == 4
    for one in annotations(final):
        check_place(one, library)
    assert final.usage is not None
    assert final.usage.input_tokens > final.usage.output_tokens > 0
    added = [e.to_dict() for e in raw if e.type == "response.output_text.annotation.added"]
    assert [one["annotation_index"] for one in added] == [0, 1, 2, 3]


def test_async_streams_end_in_the_same_response(site: Site, library: Api):
    async def ask() -> Any:
        async with (
            openai.AsyncOpenAI(**client_options(site, library.key)) as client,
            client.responses.stream(model="ragsite", input=QUESTION) as stream,
        ):
            return await stream.get_final_response()

    assert "forty metres" in asyncio.run(ask()).output_text


def test_earlier_output_can_be_sent_back(
    openai_client: openai.OpenAI, store: str, model: chat_server.Site
):
    first = openai_client.responses.create(model="ragsite", input=QUESTION, tools=tool(store))
    model.reply_with("What is the tower made of?")
    conversation: list[Any] = [{"role": "user", "content": QUESTION}]
    conversation += [item.to_dict() for item in first.output]
    part = {"type": "input_text", "text": "And what is it made of?"}
    conversation.append({"role": "user", "content": [part]})
    openai_client.responses.create(
        model="ragsite-chat", input=conversation, instructions="Be brief, sailor."
    )
    assert "Be brief, sailor." in model.last.messages[0]["content"]
    assert next(m["content"] for m in model.last.messages[1:-1]) == QUESTION


def test_a_models_limit_makes_the_response_incomplete(
    openai_client: openai.OpenAI, model: chat_server.Site
):
    text = reply(TWO[0])
    model.behave("normal", lambda e: e.answer(text(e.received.messages), finish="length"))
    response = openai_client.responses.create(model="ragsite-chat", input=QUESTION)
    assert response.status == "incomplete"
    assert response.incomplete_details is not None
    assert response.incomplete_details.reason == "max_output_tokens"


def test_a_failure_is_the_last_event(
    client_of: Callable[[Api], openai.OpenAI], api: Api, monkeypatch: pytest.MonkeyPatch
):
    script = Script()
    script.pieces = failing(LanguageModelBrokeOff("It broke off."))
    monkeypatch.setattr(pipeline, "answer", script.answer)
    events = list(client_of(api).responses.create(model="ragsite", input=QUESTION, stream=True))
    last = events[-1].to_dict()
    assert last["type"] == "response.failed"
    assert last["response"]["status"] == "failed"
    error = last["response"]["error"]
    assert (error["code"], error["type"]) == ("server_error", "language_model_broke_off")
    assert error["message"] == "It broke off."


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"previous_response_id": "resp_1"}, "previous_response_id"),
    ({"conversation": "conv_1"}, "conversation"),
    ({"background": True}, "background"),
    ({"store": True}, "store"),
    ({"text": {"format": {"type": "json_object"}}}, "text"),
    ({"tools": [{"type": "web_search"}]}, "tools.0"),
    ({"tools": tool("vs_" + "0" * 32) * 2}, "tools.1"),
    ({"tools": [{"type": "file_search"}]}, "tools.0.vector_store_ids"),
    ({"tools": tool("vs_" + "0" * 32, max_num_results=51)}, "tools.0.max_num_results"),
    ({"tools": tool("vs_" + "0" * 32, filters={"type": "like"})}, "tools.0.filters.type"),
    (
        {"tools": tool("vs_" + "0" * 32, ranking_options={"ranker": "mine"})},
        "tools.0.ranking_options.ranker",
    ),
    ({"tools": tool("vs_" + "0" * 32), "k": 3}, "k"),
    ({"tool_choice": "required"}, "tool_choice"),
    ({"include": ["reasoning.encrypted_content"]}, "include.0"),
    ({"input": []}, "input"),
    ({"input": 5}, "input"),
    ({"input": "x" * 4001}, "input"),
    ({"input": [{"type": "function_call_output", "output": "x"}]}, "input.0.type"),
    ({"input": [{"role": "user", "content": [{"type": "input_image"}]}]}, "input.0.content"),
    ({"stop": "END"}, "stop"),
]


@pytest.mark.parametrize(("fields", "param"), REFUSED)
def test_what_has_no_meaning_here_is_refused_by_name(api: Api, fields: dict[str, Any], param: str):
    answer = api.post("v1/responses", {"model": "ragsite", "input": QUESTION, **fields})
    assert answer.status == 400, answer.body
    assert answer.body["error"]["param"] == param


def test_another_namespaces_store_is_not_found_like_one_that_nobody_has(
    store: str, api_of: Callable[..., Api], other_tenant: Namespace, tenant: Namespace
):
    stranger, reader = api_of(other_tenant), api_of(tenant, scopes=("read",))

    def ask(api: Api, store_id: str) -> Any:
        body = {"model": "ragsite", "input": QUESTION, "tools": tool(store_id)}
        return api.post("v1/responses", body)

    for store_id in (store, f"vs_{uuid.uuid4().hex}", "vs_nonsense"):
        answer = ask(stranger, store_id)
        assert (answer.status, answer.code) == (404, "not_found")
        assert answer.body["error"]["param"] == "tools.0.vector_store_ids"
    assert ask(reader, store).status == 200
