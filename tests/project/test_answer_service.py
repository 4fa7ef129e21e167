"""Answers by the whole service with a language model beside it: connections, leaving, stopping."""

import hashlib
import json
import re
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import pytest
from websockets.sync.client import connect

from .. import chat_server
from .answer_site import events_in
from .raw_http import RawClient
from .service import Service, until

STREAMS = 12  # three times the pool's connections
DOCUMENT = """# The lighthouse

The lighthouse stands forty metres above the rock. It was built in 1862 of grey granite.

# The harbour

Boats longer than twelve metres need a pilot in the harbour.
"""
QUESTION = "How high does the lighthouse stand above the rock?"
# Of the database's own processes: those of the web process that do, or hold, anything.
_HELD = """
from django.db import connections
with connections['owner'].cursor() as cursor:
    cursor.execute('''
        SELECT count(*) FROM pg_stat_activity
        WHERE usename = 'ragsite_app' AND state <> 'idle'
    ''')
    print('held', cursor.fetchone()[0])
"""


@dataclass(frozen=True)
class Answering:
    service: Service
    model: chat_server.Site

    def post(self, **fields: Any) -> Any:
        with self.service.client() as client:
            return client.post("answer", json={"query": QUESTION, **fields})

    def opened(self, **fields: Any) -> RawClient:
        raw = RawClient(self.service.port)
        data = json.dumps({"query": QUESTION, **fields}).encode()
        length = {"Content_Type": "application/json", "Content_Length": str(len(data))}
        raw.send_headers("POST", "/api/v1/answer", key=self.service.key, **length)
        raw.send(data)
        return raw


@pytest.fixture(scope="module")
def answering(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Answering]:
    with chat_server.provider() as model:
        environment = {
            "DATABASE_POOL_SIZE": "4",
            "LANGUAGE_MODELS": json.dumps(
                {
                    name: {"BACKEND": "openai", "OPTIONS": {"url": model.url(name), "model": name}}
                    for name in ("normal", "slow")
                }
            ),
        }
        service = Service(tmp_path_factory.mktemp("answers"), extra=environment)
        try:
            service.start("--no-samples")
            with service.client() as client:
                files = {"file": ("lighthouse.md", DOCUMENT)}
                taken = client.post("ingest", files=files, data={"wait": "60"})
                assert taken.status_code in (200, 202), taken.text
                until(lambda: _is_found(client), seconds=60)
            yield Answering(service, model)
        finally:
            service.kill_everything()


def _is_found(client: Any) -> bool:
    return bool(client.post("query", json={"query": QUESTION}).json()["results"])


@pytest.fixture
def model(answering: Answering) -> chat_server.Site:
    answering.model.forget()
    answering.model.reply_with(_cite_the_lighthouse)
    return answering.model


def _cite_the_lighthouse(messages: list[dict[str, Any]]) -> str:
    return f"The lighthouse stands forty metres above the rock [cite:{_id_in(messages)}]."


def _at_length(messages: list[dict[str, Any]]) -> str:
    return " ".join([_cite_the_lighthouse(messages)] * 40)


def _id_in(messages: list[dict[str, Any]]) -> str:
    """Of the passage that the prompt shows before the words."""
    prompt = "\n".join(message["content"] for message in messages)
    before = prompt[: prompt.index("forty metres")]
    return re.findall(r"id=\"?(\w+)", before)[-1]


def test_a_citation_of_a_model_is_the_stored_text(answering: Answering, model: chat_server.Site):
    answer = answering.post(model="normal")
    assert answer.status_code == 200, answer.text
    body = answer.json()
    assert (body["model"], body["is_answered"]) == ("normal", True), body
    (citation,) = body["citations"]
    with answering.service.client() as client:
        text = client.get(f"documents/{citation['document_id']}/text").json()["text"]
        judged = {"query_id": body["query_id"], "useful": True}
        assert client.post("feedback", json=judged).status_code in (200, 201)
    cited = text[citation["start_char_index"] : citation["end_char_index"]]
    assert cited == citation["cited_text"]
    assert "forty metres" in cited
    assert citation["checksum"] == hashlib.sha256(cited.encode()).hexdigest()
    assert body["usage"]["completion_tokens"] > 0
    streamed = events_in(answering.post(model="normal", stream=True).text)
    assert [name for name, _ in streamed if name in ("answer", "error")] == ["answer"]
    assert "".join(d["text"] for n, d in streamed if n == "delta") == body["answer"].replace(
        citation["id"], streamed[-1][1]["citations"][0]["id"]
    )


def test_the_prompt_shown_is_the_one_that_is_sent(answering: Answering, model: chat_server.Site):
    with answering.service.client() as client:
        shown = client.get("answer/prompt", params={"query": QUESTION, "model": "normal"}).json()
    assert model.requests == []  # nobody is asked for it
    answering.post(model="normal")
    sent = model.requests[0].messages
    assert [m["role"] for m in shown["messages"]] == [m["role"] for m in sent]
    for one, other in zip(shown["messages"], sent, strict=True):
        assert _without_ids(one["content"]) == _without_ids(other["content"])


def _without_ids(text: str) -> str:
    """Ids and delimiters are new for each prompt."""
    return re.sub(r"\b(id=\"?|cite:|data-)\w+", "", text)


def test_no_connection_is_held_while_a_model_writes_and_leaving_closes_every_call(
    answering: Answering, model: chat_server.Site
):
    model.reply_with(_at_length)
    with ExitStack() as stack:
        readers = [
            stack.enter_context(answering.opened(model="slow", stream=True)) for _ in range(STREAMS)
        ]
        for reader in readers:
            reader.read_until(b"event: delta")
        until(lambda: _held(answering) == 0, seconds=30)
        assert len(model.unfinished) == STREAMS
        with answering.service.client() as client:
            for _ in range(3):
                assert client.get("documents").status_code == 200
                assert client.post("query", json={"query": "pilot"}).status_code == 200
    assert model.wait_for_close(2)
    assert len(model.closed_early) == STREAMS


def _held(answering: Answering) -> int:
    done = answering.service.command("shell", "-c", _HELD)
    assert done.returncode == 0, done.stderr
    return int(re.findall(r"held (\d+)", done.stdout)[0])


def test_requests_that_wait_for_a_whole_answer_hold_none_either_and_can_be_left(
    answering: Answering, model: chat_server.Site
):
    model.reply_with(_at_length)
    with ExitStack() as stack:
        for _ in range(STREAMS):
            stack.enter_context(answering.opened(model="slow"))
        until(lambda: len(model.unfinished) == STREAMS, seconds=30)
        until(lambda: _held(answering) == 0, seconds=30)
        with answering.service.client() as client:
            assert client.get("documents").status_code == 200
    assert model.wait_for_close(2)
    assert len(model.closed_early) == STREAMS


def test_a_socket_is_upgraded_and_cancelling_closes_the_call(
    answering: Answering, model: chat_server.Site
):
    address = f"ws://127.0.0.1:{answering.service.port}/api/v1/answer/ws"
    with connect(address) as socket:
        socket.send(json.dumps({"type": "auth", "key": answering.service.key}))
        assert json.loads(socket.recv(10))["event"] == "ready"
        socket.send(json.dumps({"type": "ask", "query": QUESTION, "model": "normal"}))
        heard = [json.loads(socket.recv(30))]
        while heard[-1]["event"] not in ("answer", "error"):
            heard.append(json.loads(socket.recv(30)))
        assert heard[-1]["event"] == "answer", heard[-1]
        assert heard[-1]["data"]["citations"]
        model.reply_with(_at_length)
        socket.send(json.dumps({"type": "ask", "query": QUESTION, "model": "slow"}))
        while (event := json.loads(socket.recv(30)))["event"] != "delta":
            assert event["event"] not in ("answer", "error"), event
        socket.send(json.dumps({"type": "cancel"}))
        assert model.wait_for_close(2)
    assert len(model.closed_early) == 1


def test_a_service_that_stops_ends_its_streams_with_a_word(
    answering: Answering, model: chat_server.Site
):
    """The last test: it stops the service."""
    model.reply_with(_at_length)
    with answering.opened(model="slow", stream=True) as reader:
        reader.read_until(b"event: delta")
        stopping = threading.Thread(target=answering.service.stop)
        stopping.start()
        assert b"shutting_down" in reader.read_until(b"event: error") + reader.read_until(b"\n\n")
        stopping.join(60)
    assert model.wait_for_close(2)
