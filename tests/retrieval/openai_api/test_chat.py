"""/v1/chat/completions with the official client, unchanged, over a real server."""

import asyncio
import json
import re
from collections.abc import Callable
from typing import Any

import httpx2
import openai
import pytest

from documents.language_models.base import LanguageModelBrokeOff
from documents.models import Namespace
from ragsite.database.tenancy import namespace
from retrieval import query_log
from retrieval.answering import answer as pipeline
from retrieval.models import QueryLog

from ... import chat_server
from ...client import Api
from ...project.answer_site import Site
from ..scripted_pipeline import Script, failing
from .citations import check_place, reply
from .conftest import client_options

QUESTION = "How high does the tower stand above the rock?"
ASK: list[Any] = [{"role": "user", "content": QUESTION}]
TWO = ("The tower stands forty metres above the rock", "The lamp turned once in ten seconds")


def cited(message: Any) -> list[dict[str, Any]]:
    return [a["url_citation"] for a in message.to_dict()["annotations"]]


def text_and_chunks(stream: Any) -> tuple[str, list[Any]]:
    chunks = list(stream)
    texts = [choice.delta.content or "" for chunk in chunks for choice in chunk.choices]
    return "".join(texts), chunks


def test_an_answer_has_numbers_whose_links_open_the_quoted_text(
    openai_client: openai.OpenAI, library: Api
):
    answer = openai_client.chat.completions.create(model="ragsite", messages=ASK)
    assert answer.object == "chat.completion"
    assert answer.id.startswith("chatcmpl-")
    assert (answer.model, answer.choices[0].finish_reason) == ("ragsite", "stop")
    content = answer.choices[0].message.content or ""
    assert "forty metres" in content
    assert "[cite:" not in content
    places = cited(answer.choices[0].message)
    assert places
    for place in places:
        assert re.fullmatch(r"\[\d+\]", content[place["start_index"] : place["end_index"]])
        check_place(place, library)
    assert answer.usage is not None
    assert answer.usage.total_tokens == 0  # the extractive writer asks no model


def test_facts_are_cited_as_memory_if_they_are_asked_for(
    openai_client: openai.OpenAI, library: Api, work: Callable[[], int]
):
    about = {"subject": "Zora", "predicate": "lives in", "object": "Oslo"}
    library.post("facts", {**about, "source_uri": "https://crm.example/zora"})
    library.upload(("towers.csv", "keeper,shift\nIlmari,nights\n"), rows_as_facts="true")
    work()

    def places(question: str, **body: Any) -> list[dict[str, Any]]:
        answer = openai_client.chat.completions.create(
            model="ragsite-extractive",
            messages=[{"role": "user", "content": question}],
            extra_body=body,
        )
        return cited(answer.choices[0].message)

    assert places("In which city does Zora live?") == []
    (place,) = places("In which city does Zora live?", include_facts=True)
    assert (place["title"], place["url"]) == ("Memory", "https://crm.example/zora")
    assert (place["document_id"], place["fact"]["object"]) == (None, "Oslo")
    assert place["quote"].startswith("Zora lives in Oslo (since ")
    assert places("In which city does Zora live?", include_facts={"subjects": ["Bob"]}) == []
    no_table = {"source_types": ["md"]}  # filters are for passages: the row stays
    (row,) = places("Ilmari shift?", include_facts=True, filters=no_table)
    assert row["fact"]["object"] == "nights"
    assert "<mark" in httpx2.get(row["url"]).text
    with pytest.raises(openai.BadRequestError) as refused:
        places("In which city does Zora live?", include_facts={"colour": "red"})
    assert refused.value.param == "include_facts.colour"


def test_a_language_models_answer_streams_in_chunks_of_one_id(
    openai_client: openai.OpenAI, library: Api, model: chat_server.Site
):
    model.reply_with(reply(*TWO))
    whole = openai_client.chat.completions.create(model="ragsite-chat", messages=ASK)
    stream = openai_client.chat.completions.create(
        model="ragsite-chat", messages=ASK, stream=True, stream_options={"include_usage": True}
    )
    content, chunks = text_and_chunks(stream)
    assert content == whole.choices[0].message.content
    assert {chunk.id for chunk in chunks} == {chunks[0].id}
    assert {chunk.object for chunk in chunks} == {"chat.completion.chunk"}
    assert chunks[0].choices[0].delta.role == "assistant"
    assert [c.choices[0].finish_reason for c in chunks[:-1] if c.choices[0].finish_reason] == [
        "stop"
    ]
    assert (chunks[-1].choices, chunks[-1].usage) == ([], whole.usage)
    assert whole.usage is not None
    assert whole.usage.prompt_tokens > whole.usage.completion_tokens > 0
    assert not any(re.search(r"\[\d*$", c.choices[0].delta.content or "") for c in chunks[:-1])
    entries = [
        entry
        for chunk in chunks[:-1]
        for entry in chunk.to_dict()["choices"][0]["delta"].get("annotations", [])
    ]
    assert [entry["index"] for entry in entries] == list(range(len(entries)))
    places = [entry["url_citation"] for entry in entries]
    assert len(places) == 2
    for place, sentence in zip(places, TWO, strict=True):
        check_place(place, library)
        span = place["answer_span"]
        assert content[span["start"] : span["end"]] == sentence
        assert re.fullmatch(r"\[\d\]", content[place["start_index"] : place["end_index"]])


def test_the_clients_own_accumulator_takes_every_chunk(
    openai_client: openai.OpenAI, model: chat_server.Site
):
    model.reply_with(reply(*TWO))
    with openai_client.chat.completions.stream(model="ragsite-chat", messages=ASK) as stream:
        events = [event.type for event in stream]
        final = stream.get_final_completion()
    assert "content.done" in events
    assert len(cited(final.choices[0].message)) == 2


def test_the_wire_ends_with_done_and_heartbeats_are_comments(
    site: Site, openai_client: openai.OpenAI, settings: Any, model: chat_server.Site
):
    settings.ANSWER_RUNS = {**settings.ANSWER_RUNS, "heartbeat": 0.02}

    def hesitate(exchange: chat_server.Exchange) -> None:
        exchange.wait(0.3)
        exchange.answer(reply(*TWO)(exchange.received.messages))

    model.behave("normal", hesitate)
    raw = openai_client.chat.completions.with_raw_response.create(
        model="ragsite-chat", messages=ASK, stream=True
    )
    blocks = [block for block in raw.http_response.read().decode().split("\n\n") if block]
    assert raw.headers["content-type"] == "text/event-stream"
    assert blocks[-1] == "data: [DONE]"
    assert ": still here" in blocks
    for block in blocks[:-1]:
        if not block.startswith(":"):
            assert json.loads(block.removeprefix("data: "))["object"] == "chat.completion.chunk"


def test_async_clients_get_the_same(site: Site, library: Api):
    async def ask() -> tuple[Any, str]:
        async with openai.AsyncOpenAI(**client_options(site, library.key)) as client:
            whole = await client.chat.completions.create(model="ragsite", messages=ASK)
            stream = await client.chat.completions.create(
                model="ragsite", messages=ASK, stream=True
            )
            pieces = [c.choices[0].delta.content or "" async for c in stream]
            return whole, "".join(pieces)

    whole, streamed = asyncio.run(ask())
    assert "forty metres" in streamed
    assert whole.choices[0].message.content == streamed


def test_a_question_that_nothing_answers_is_a_normal_completion(openai_client: openai.OpenAI):
    answer = openai_client.chat.completions.create(
        model="ragsite", messages=[{"role": "user", "content": "Who won the chess tournament?"}]
    )
    choice = answer.choices[0]
    assert (choice.finish_reason, choice.message.annotations) == ("stop", [])
    assert choice.message.content


def test_earlier_turns_and_the_system_message_reach_the_model(
    openai_client: openai.OpenAI, model: chat_server.Site
):
    model.reply_with("How high is the tower of the lighthouse?")
    first = openai_client.chat.completions.create(model="ragsite", messages=ASK)
    messages: list[Any] = [
        {"role": "system", "content": [{"type": "text", "text": "Answer like a pirate."}]},
        *ASK,
        first.choices[0].message.to_dict(),  # as clients send it back
        {"role": "user", "content": "And what is it made of?", "name": "ada"},
    ]
    openai_client.chat.completions.create(
        model="ragsite-chat", messages=messages, temperature=0.5, max_tokens=77, stop="END"
    )
    asked = model.last
    system = asked.messages[0]["content"]
    assert system.index("Rules.") < system.index("Answer like a pirate.")
    turns = [m["content"] for m in asked.messages[1:-1]]
    assert turns[0] == QUESTION
    assert "forty metres" in turns[1]
    assert "[1]" not in turns[1]
    assert (asked.body["temperature"], asked.body["stop"]) == (0.5, ["END"])
    assert 77 in (asked.body.get("max_tokens"), asked.body.get("max_completion_tokens"))


def test_a_long_chat_goes_on(openai_client: openai.OpenAI):
    turns: list[Any] = []
    for number in range(60):
        turns.append({"role": "user", "content": f"Question {number}?"})
        turns.append({"role": "assistant", "content": "x" * 20_000})
    answer = openai_client.chat.completions.create(model="ragsite", messages=[*turns, *ASK])
    assert "forty metres" in (answer.choices[0].message.content or "")


def test_a_models_limit_is_the_finish_reason_length(
    openai_client: openai.OpenAI, model: chat_server.Site
):
    text = reply(TWO[0])
    model.behave("normal", lambda e: e.answer(text(e.received.messages), finish="length"))
    answer = openai_client.chat.completions.create(model="ragsite-chat", messages=ASK)
    assert answer.choices[0].finish_reason == "length"


IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,"}}
BOGUS_PART = {"type": "text", "text": "x", "mood": "y"}
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"tools": [{"type": "function", "function": {"name": "f"}}]}, "tools"),
    ({"functions": [{"name": "f"}]}, "functions"),
    ({"response_format": {"type": "json_object"}}, "response_format"),
    ({"logprobs": True}, "logprobs"),
    ({"seed": 1}, "seed"),
    ({"n": 2}, "n"),
    ({"n": True}, "n"),
    ({"audio": {"voice": "alloy"}}, "audio"),
    ({"top_p": 0.5}, "top_p"),
    ({"store": True}, "store"),
    ({"colour": "red"}, "colour"),
    ({"colour": None}, "colour"),
    ({"temperature": 3}, "temperature"),
    ({"temperature": "hot"}, "temperature"),
    ({"max_tokens": 0}, "max_tokens"),
    ({"max_tokens": 5, "max_completion_tokens": 6}, "max_tokens"),
    ({"stop": ["a", "b", "c", "d", "e"]}, "stop"),
    ({"stream_options": {"include_usage": True}}, "stream_options"),
    ({"filters": {"colour": "red"}}, "filters.colour"),
    ({"k": 0}, "k"),
    ({"messages": []}, "messages"),
    ({"messages": [{"role": "assistant", "content": "Hello"}]}, "messages"),
    ({"messages": [*ASK, {"role": "assistant", "content": "It"}]}, "messages"),
    ({"messages": ["Hello"]}, "messages.0"),
    ({"messages": [{"role": "robot", "content": "x"}]}, "messages.0.role"),
    ({"messages": [{"role": "tool", "content": "x", "tool_call_id": "1"}]}, "messages.0.role"),
    ({"messages": [{"role": "user", "content": [IMAGE]}]}, "messages.0.content"),
    ({"messages": [*ASK, {"role": "user", "content": 5}]}, "messages.1.content"),
    ({"messages": [{"role": "user", "content": "x" * 4001}]}, "messages.0.content"),
    ({"messages": [{"role": "user", "content": "x", "mood": "y"}]}, "messages.0.mood"),
    ({"messages": [{"role": "user", "content": [BOGUS_PART]}]}, "messages.0.content.0.mood"),
    ({"messages": [{"role": "assistant", "tool_calls": [{}]}, *ASK]}, "messages.0.tool_calls"),
    ({"messages": [{"role": "system", "content": "x" * 4001}, *ASK]}, "messages.0.content"),
]


@pytest.mark.parametrize(("fields", "param"), REFUSED)
def test_what_has_no_meaning_here_is_refused_by_name(api: Api, fields: dict[str, Any], param: str):
    answer = api.post("v1/chat/completions", {"model": "ragsite", "messages": ASK, **fields})
    assert answer.status == 400, answer.body
    assert answer.body["error"]["param"] == param
    assert answer.body["error"]["type"] == "invalid_request_error"


def test_options_that_ask_for_nothing_are_accepted(api: Api):
    fields = {
        "n": 1,
        "top_p": 1.0,
        "frequency_penalty": 0,
        "tools": None,
        "response_format": {"type": "text"},
        "store": False,
        "user": "ada",
        "metadata": {"chat": "1"},
        "stop": None,
    }
    answer = api.post("v1/chat/completions", {"model": "ragsite", "messages": ASK, **fields})
    assert answer.status == 200, answer.body


def test_errors_are_the_clients_own_exceptions(client_of: Callable[[Api], openai.OpenAI], api: Api):
    client = client_of(api)
    with pytest.raises(openai.NotFoundError) as missing:
        client.chat.completions.create(model="gpt-4o", messages=ASK)
    assert missing.value.param == "model"
    with pytest.raises(openai.AuthenticationError):
        client.with_options(api_key="rs_wrong").chat.completions.create(
            model="ragsite", messages=ASK
        )
    with pytest.raises(openai.BadRequestError) as refused:
        client.chat.completions.create(model="ragsite", messages=ASK, seed=1)
    assert (refused.value.param, refused.value.code) == ("seed", "unsupported_parameter")


def test_a_model_that_breaks_off_raises_in_the_client(
    site: Site, client_of: Callable[[Api], openai.OpenAI], api: Api, monkeypatch: Any
):
    script = Script()
    script.pieces = failing(LanguageModelBrokeOff("It broke off."))
    monkeypatch.setattr(pipeline, "answer", script.answer)
    stream = client_of(api).chat.completions.create(model="ragsite", messages=ASK, stream=True)
    with pytest.raises(openai.APIError, match=r"It broke off\.") as broken:
        list(stream)
    assert broken.value.code == "language_model_broke_off"
    assert isinstance(broken.value.body, dict)
    assert broken.value.body["request_id"]
    with pytest.raises(openai.InternalServerError, match=r"It broke off\.") as whole:
        client_of(api).chat.completions.create(model="ragsite", messages=ASK)
    assert whole.value.status_code == 502


def test_each_key_is_answered_from_its_own_namespace(
    client_of: Callable[[Api], openai.OpenAI],
    api_of: Callable[..., Api],
    library: Api,
    tenant: Namespace,
    other_tenant: Namespace,
):
    reader = client_of(api_of(tenant, scopes=("read",)))
    stranger = client_of(api_of(other_tenant))
    found = reader.chat.completions.create(model="ragsite", messages=ASK)
    nothing = stranger.chat.completions.create(model="ragsite", messages=ASK)
    assert cited(found.choices[0].message)
    assert cited(nothing.choices[0].message) == []
    writer = client_of(api_of(tenant, scopes=("write",)))
    with pytest.raises(openai.PermissionDeniedError):
        writer.chat.completions.create(model="ragsite", messages=ASK)


def test_filters_narrow_the_search_and_are_logged(openai_client: openai.OpenAI, tenant: Namespace):
    filters = {"tags": ["trade"]}
    answer = openai_client.chat.completions.create(
        model="ragsite",
        messages=[{"role": "user", "content": "When do boats leave the harbour?"}],
        extra_body={"filters": filters, "k": 3},
    )
    places = cited(answer.choices[0].message)
    assert {place["source_uri"] for place in places} == {"upload:harbour.md"}
    query_log.flush()
    with namespace(tenant.pk):
        logged = QueryLog.objects.latest("created_at")
    assert logged.filters == filters


def test_background_requests_of_open_webui_do_not_fail(openai_client: openai.OpenAI):
    task = "### Task:\nGenerate a concise title with an emoji.\n### Output:\nJSON format\n"
    history = f"### Chat History:\n<chat_history>\nUSER: {QUESTION}\n</chat_history>"
    answer = openai_client.chat.completions.create(
        model="ragsite",
        messages=[{"role": "user", "content": task + history}],
        max_completion_tokens=1000,
        stream=False,
    )
    assert answer.choices[0].message.content
