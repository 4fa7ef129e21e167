"""Answers over a real server: events, clients that leave or stop reading, deadlines, shutdown."""

import json
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from documents.language_models.base import LanguageModelBrokeOff
from ragsite.access.actor import current_actor
from ragsite.platform.logs import current_request_id
from ragsite.web.guards.slots import Slots
from retrieval.answering import answer as pipeline
from retrieval.api.answers import runs

from ..client import Api
from ..retrieval.scripted_pipeline import (
    ANSWER,
    Script,
    endless,
    failing,
    until_cancelled,
    wait_until,
)
from .answer_site import Site, events_in, serving
from .raw_http import RawClient

QUESTION = {"query": "How high?", "stream": True}


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Iterator[Script]:
    made = Script()
    monkeypatch.setattr(pipeline, "answer", made.answer)
    yield made
    wait_until(lambda: made.ended == len(made.requests))  # whatever was begun has ended
    wait_until(lambda: runs.slots.count() == 0)


@pytest.fixture
def site(script: Script, settings: Any) -> Iterator[Site]:
    settings.STREAMS = {**settings.STREAMS, "send_timeout": 1.0}
    with serving() as made:
        yield made


def stream(site: Site, api: Api, **fields: Any) -> list[tuple[str, Any]]:
    with site.client(api.key) as client:
        answer = client.post("answer", json={**QUESTION, **fields})
    assert answer.status_code == 200, answer.text
    return events_in(answer.text)


def opened(site: Site, api: Api, body: dict[str, Any], **options: Any) -> RawClient:
    raw = RawClient(site.port, **options)
    data = json.dumps(body).encode()
    length = {"Content_Type": "application/json", "Content_Length": str(len(data))}
    raw.send_headers("POST", "/api/v1/answer", key=api.key, **length)
    raw.send(data)
    return raw


def test_events_come_in_order_and_the_last_is_the_whole_answer(site: Site, api: Api):
    with site.client(api.key) as client:
        answer = client.post("answer", json=QUESTION, headers={"Accept": "text/event-stream"})
        whole = client.post("answer", json={"query": "How high?"}).json()
    assert answer.headers["content-type"] == "text/event-stream"
    assert answer.headers["cache-control"] == "no-cache, no-transform"
    assert answer.headers["x-accel-buffering"] == "no"
    assert 'name="answer"' in answer.headers["ratelimit-policy"]
    events = events_in(answer.text)
    assert [name for name, _ in events] == ["sources", "delta", "delta", "citation", "answer"]
    by_name = dict(events)
    assert by_name["sources"]["sources"][0]["cited"] is None
    assert "".join(data["text"] for name, data in events if name == "delta") == ANSWER
    assert by_name["answer"]["citations"] == [by_name["citation"]]
    assert by_name["answer"].keys() == whole.keys()
    assert by_name["answer"]["answer"] == whole["answer"] == ANSWER


def test_a_model_that_breaks_off_ends_in_one_error_event(site: Site, api: Api, script: Script):
    script.pieces = failing(LanguageModelBrokeOff("It broke off."))
    with site.client(api.key) as client:
        answer = client.post("answer", json=QUESTION)
    events = events_in(answer.text)
    assert [name for name, _ in events] == ["sources", "delta", "error"]
    error = events[-1][1]["error"]
    assert error["code"] == "language_model_broke_off"
    assert error["request_id"] == answer.headers["x-request-id"]


def test_whatever_else_goes_wrong_is_one_error_event_without_its_details(
    site: Site, api: Api, script: Script
):
    script.pieces = failing(ValueError("secret"))
    events = stream(site, api)
    assert [name for name, _ in events][-1:] == ["error"]
    assert events[-1][1]["error"]["code"] == "internal_error"
    assert "secret" not in str(events)


@pytest.mark.parametrize("is_stream", [True, False])
def test_a_client_that_leaves_ends_the_answer(
    site: Site, api: Api, script: Script, is_stream: bool
):
    script.pieces = until_cancelled
    with opened(site, api, {**QUESTION, "stream": is_stream}) as raw:
        if is_stream:
            raw.read_until(b"event: delta")
        else:
            wait_until(lambda: script.requests)
            time.sleep(0.2)
    wait_until(lambda: script.ended)
    assert script.cancelled == 1


def test_a_client_that_stops_reading_is_cut_off(site: Site, api: Api, script: Script):
    script.pieces = endless
    with opened(site, api, QUESTION, receive_buffer=4096) as raw:
        assert raw.status() == 200
        raw.wait_until_closed(seconds=20)
        wait_until(lambda: script.ended)
        with site.client(api.key) as client:
            assert client.get("documents").status_code == 200


def test_a_flood_holds_up_nobody_else(site: Site, api: Api, script: Script):
    script.pieces = endless
    with site.client(api.key) as one, one.stream("POST", "answer", json=QUESTION) as flood:
        reading = threading.Thread(target=lambda: _read(flood), daemon=True)
        reading.start()
        with site.client(api.key) as other:
            for _ in range(5):
                assert other.get("documents").status_code == 200
        assert reading.is_alive()
        with opened(site, api, QUESTION) as second:  # and it can be left like any other
            second.read_until(b"event: delta")
        wait_until(lambda: script.ended == 1)
        site.server.should_exit = True
        reading.join(15)


def _read(response: Any) -> None:
    try:
        for _ in response.iter_bytes():
            pass
    except Exception:  # the server ends it
        return


def test_silence_is_filled_with_heartbeats(site: Site, api: Api, script: Script, settings: Any):
    settings.ANSWER_RUNS = {**settings.ANSWER_RUNS, "heartbeat": 0.1}

    def thoughtful(cancelled: threading.Event) -> Iterator[str]:
        cancelled.wait(0.7)
        yield ANSWER

    script.pieces = thoughtful
    names = [name for name, _ in stream(site, api)]
    assert names.count("") >= 3
    assert [name for name in names if name] == ["sources", "delta", "citation", "answer"]


def test_an_answer_that_outlives_its_deadline_is_stopped(
    site: Site, api: Api, script: Script, settings: Any
):
    settings.ANSWERS = {**settings.ANSWERS, "seconds": 0.5 - runs.GRACE_SECONDS}
    script.pieces = until_cancelled
    events = stream(site, api)
    assert [name for name, _ in events] == ["sources", "delta", "error"]
    assert events[-1][1]["error"]["code"] == "answer_timeout"
    with site.client(api.key) as client:
        late = client.post("answer", json={"query": "How high?"})
    assert (late.status_code, late.json()["error"]["code"]) == (504, "answer_timeout")
    wait_until(lambda: script.cancelled == 2)


@pytest.mark.parametrize("is_stream", [True, False])
def test_a_server_that_stops_says_so(
    site: Site, api: Api, script: Script, is_stream: bool, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(runs, "SHUTDOWN_SECONDS", 0.5)
    script.pieces = until_cancelled
    with opened(site, api, {**QUESTION, "stream": is_stream}) as raw:
        wait_until(lambda: script.requests)
        time.sleep(0.3)
        site.server.should_exit = True
        if is_stream:
            said = raw.read_until(b"event: error") + raw.read_until(b"\n\n")
            assert b"shutting_down" in said
            assert said.count(b"event: error") == 1
        else:
            answer = raw.answer()
            assert (answer.status, answer.error["code"]) == (503, "shutting_down")
    wait_until(lambda: script.cancelled == 1)


def test_beyond_its_places_the_server_is_busy_and_then_free_again(
    site: Site, api: Api, script: Script, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(runs, "slots", Slots(per_owner=5, total=1))
    script.pieces = until_cancelled
    with opened(site, api, QUESTION) as raw, site.client(api.key) as client:
        raw.read_until(b"event: delta")
        for body in (QUESTION, {"query": "How high?"}):
            refused = client.post("answer", json=body)
            assert (refused.status_code, refused.json()["error"]["code"]) == (503, "busy")
            assert refused.headers["retry-after"]
    wait_until(lambda: runs.slots.count() == 0)
    script.pieces = Script().pieces
    assert [name for name, _ in stream(site, api)][-1] == "answer"


def test_a_stream_that_is_refused_gives_its_place_back(
    site: Site, api: Api, script: Script, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("ragsite.web.guards.stream_limit.open_streams.per_owner", 0)
    with site.client(api.key) as client:
        for body in (QUESTION, {"query": "How high?"}):
            refused = client.post("answer", json=body)
            assert refused.json()["error"]["code"] == "too_many_streams"
    assert runs.slots.count() == 0
    assert script.requests == []


@pytest.mark.parametrize("is_stream", [True, False])
def test_the_pipeline_knows_whose_request_it_is(
    site: Site, api: Api, script: Script, is_stream: bool
):
    seen: list[Any] = []

    def note() -> None:
        seen.append((current_request_id(), current_actor().kind, current_actor().label))

    script.before_sources = note
    with site.client(api.key) as client:
        body, headers = {**QUESTION, "stream": is_stream}, {"X-Request-ID": "mine-1"}
        assert client.post("answer", json=body, headers=headers).status_code == 200
    assert seen == [("mine-1", "key", api.key.split("_")[1])]
