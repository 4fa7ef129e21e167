"""/api/v1/answer/ws over a real server: who gets in, what is said, and how it is closed."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from socket import create_connection
from typing import Any

import pytest
from django.utils import timezone
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from documents.language_models.base import LanguageModelTimeout
from documents.models import ApiKey, Namespace
from ragsite.database.tenancy import operator
from ragsite.web.guards.routes import STRANGER_BYTES
from ragsite.web.guards.slots import Slots
from retrieval.answering import answer as pipeline
from retrieval.api.answers import runs
from retrieval.api.answers import socket as answer_socket

from ..client import Api
from ..retrieval.scripted_pipeline import (
    ANSWER,
    Script,
    endless,
    failing,
    until_cancelled,
    wait_until,
)
from .answer_site import MAX_MESSAGE_BYTES, Site, serving

ASK = {"type": "ask", "query": "How high?"}


class Talk:
    """A client's side of a socket."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket

    def say(self, **fields: Any) -> None:
        self.socket.send(json.dumps(fields))

    def hear(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.socket.recv(timeout=20))
        return found

    def hear_to_the_end(self) -> list[dict[str, Any]]:
        heard = [self.hear()]
        while heard[-1]["event"] not in ("answer", "error"):
            heard.append(self.hear())
        return heard

    def hear_error(self) -> str:
        heard = self.hear()
        assert heard["event"] == "error", heard
        return str(heard["data"]["error"]["code"])

    def close_code(self) -> int:
        with pytest.raises(ConnectionClosed) as closed:
            self.hear()
        assert closed.value.rcvd is not None
        return closed.value.rcvd.code


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Iterator[Script]:
    made = Script()
    monkeypatch.setattr(pipeline, "answer", made.answer)
    yield made
    wait_until(lambda: made.ended == len(made.requests))
    wait_until(lambda: runs.slots.count() == 0)


@pytest.fixture
def site(script: Script, settings: Any) -> Iterator[Site]:
    settings.STREAMS = {**settings.STREAMS, "send_timeout": 1.0}
    with serving() as made:
        yield made


@contextmanager
def talking(site: Site, key: str = "", **options: Any) -> Iterator[Talk]:
    with connect(options.pop("address", site.socket_url), **options) as socket:
        talk = Talk(socket)
        if key:
            talk.say(type="auth", key=key)
            assert talk.hear() == {"event": "ready", "data": {}}
        yield talk


def test_questions_are_answered_with_the_events_of_a_stream(site: Site, api: Api, script: Script):
    with talking(site, api.key) as talk:
        for number in (1, 2):
            talk.say(**ASK, id=number, k=number)
            heard = talk.hear_to_the_end()
            events = [message["event"] for message in heard]
            assert events == ["sources", "delta", "delta", "citation", "answer"]
            assert {message["id"] for message in heard} == {number}
            assert heard[-1]["data"]["answer"] == ANSWER
    assert [asked.search.k for asked in script.requests] == [1, 2]


def test_the_first_message_may_be_the_question_too(site: Site, api: Api):
    with talking(site) as talk:
        talk.say(**ASK, key=api.key)
        assert talk.hear_to_the_end()[-1]["event"] == "answer"
        talk.say(**ASK)
        assert talk.hear_to_the_end()[-1]["event"] == "answer"


@pytest.mark.parametrize(
    ("first", "code"),
    [
        ({"type": "auth"}, "not_authenticated"),
        ({"type": "auth", "key": 7}, "not_authenticated"),
        ({"type": "auth", "key": "nonsense"}, "invalid_key"),
        ({"type": "auth", "key": f"rs_{'0' * 12}_{'x' * 43}"}, "invalid_key"),
        ({**ASK, "key": f"rs_{'0' * 12}_{'x' * 43}"}, "invalid_key"),
        (ASK, "not_authenticated"),
    ],
)
def test_without_a_valid_key_nothing_is_asked(
    site: Site, script: Script, first: dict[str, Any], code: str
):
    with talking(site) as talk:
        talk.say(**first)
        assert (talk.hear_error(), talk.close_code()) == (code, 4401)
    assert script.requests == []


def test_a_key_in_the_address_or_the_headers_is_not_looked_at(site: Site, api: Api):
    headers, address = {"Authorization": f"Bearer {api.key}"}, f"{site.socket_url}?key={api.key}"
    with talking(site, address=address, additional_headers=headers) as talk:
        talk.say(**ASK)
        assert (talk.hear_error(), talk.close_code()) == ("not_authenticated", 4401)


def test_wrong_keys_are_limited_by_address(site: Site, api: Api, settings: Any):
    settings.WRONG_KEYS_PER_MINUTE = 1
    wrong = f"rs_{'0' * 12}_{'x' * 43}"
    for code, closed in (("invalid_key", 4401), ("rate_limited", 1013)):
        with talking(site) as talk:
            talk.say(type="auth", key=wrong)
            assert (talk.hear_error(), talk.close_code()) == (code, closed)
    with talking(site, api.key):
        pass


def test_a_key_without_the_scope_is_turned_away(
    site: Site, api_of: Callable[..., Api], tenant: Namespace, script: Script
):
    with talking(site, api_of(tenant, ("write",)).key) as talk:
        talk.say(**ASK)
        assert (talk.hear_error(), talk.close_code()) == ("insufficient_scope", 4403)
    assert script.requests == []


def test_a_key_that_is_revoked_meanwhile_asks_nothing_more(site: Site, api: Api, script: Script):
    with talking(site, api.key) as talk:
        talk.say(**ASK)
        assert talk.hear_to_the_end()[-1]["event"] == "answer"
        with operator():
            ApiKey.objects.update(revoked_at=timezone.now())
        talk.say(**ASK)
        assert (talk.hear_error(), talk.close_code()) == ("key_revoked", 4401)
    assert len(script.requests) == 1


def test_answers_come_from_the_keys_own_namespace(
    site: Site, api: Api, api_of: Callable[..., Api], tenant: Namespace, other_tenant: Namespace,
    script: Script,
):  # fmt: skip
    for key in (api.key, api_of(other_tenant).key):
        with talking(site, key) as talk:
            talk.say(**ASK)
            talk.hear_to_the_end()
    assert script.namespaces == [tenant.pk, other_tenant.pk]


def test_nobody_may_be_silent_for_long(
    site: Site, api: Api, monkeypatch: pytest.MonkeyPatch, settings: Any
):
    monkeypatch.setattr(answer_socket, "KEY_SECONDS", 0.2)
    monkeypatch.setattr(answer_socket, "IDLE_SECONDS", 0.5)
    settings.ANSWER_RUNS = {**settings.ANSWER_RUNS, "heartbeat": 0.2}
    with talking(site) as talk:
        assert (talk.hear_error(), talk.close_code()) == ("not_authenticated", 4401)
    with talking(site, api.key) as talk:
        assert talk.hear() == {"event": "heartbeat", "data": None}
        assert talk.hear()["event"] == "heartbeat"
        talk.hear()
        assert talk.close_code() == 1000


def test_bad_questions_are_errors_and_the_socket_stays(site: Site, api: Api, script: Script):
    with talking(site, api.key) as talk:
        talk.say(type="ask", id="a")
        refused = talk.hear()
        assert (refused["event"], refused["id"]) == ("error", "a")
        assert refused["data"]["error"]["code"] == "invalid_request"
        assert refused["data"]["error"]["details"]["fields"][0]["field"] == "query"
        talk.say(**ASK, model="gpt-12")
        assert talk.hear_error() == "model_not_configured"
        talk.say(type="shout")
        assert talk.hear_error() == "invalid_request"
        talk.say(**ASK, id={"not": "an id"})
        assert talk.hear_error() == "invalid_request"
        talk.say(type="cancel")  # nothing is under way
        script.pieces = failing(LanguageModelTimeout("It is slow."))
        talk.say(**ASK)
        heard = talk.hear_to_the_end()
        assert [message["event"] for message in heard] == ["sources", "delta", "error"]
        script.pieces = Script().pieces
        talk.say(**ASK)
        assert talk.hear_to_the_end()[-1]["event"] == "answer"


def test_limits_are_those_of_requests(
    site: Site, api: Api, settings: Any, monkeypatch: pytest.MonkeyPatch
):
    with talking(site, api.key) as talk:
        with monkeypatch.context() as patch:
            patch.setattr(runs, "slots", Slots(per_owner=1, total=0))
            talk.say(**ASK)
            busy = talk.hear()["data"]["error"]
            assert (busy["code"], busy["details"]["retry_after"]) == ("busy", 5)
        with monkeypatch.context() as patch:
            patch.setattr("ragsite.web.guards.stream_limit.open_streams.per_owner", 0)
            talk.say(**ASK)
            assert talk.hear_error() == "too_many_streams"
        settings.RATE_LIMITS = {**settings.RATE_LIMITS, "answer": 1}
        talk.say(**ASK)
        assert talk.hear_error() == "rate_limited"


@pytest.mark.parametrize("sent", ["nonsense", "[1]", b"{}", '{"query": NaN}', "[" * 100_000])
def test_what_is_no_json_object_ends_the_talk(site: Site, api: Api, sent: Any):
    with talking(site, api.key) as talk:
        talk.socket.send(sent)
        assert (talk.hear_error(), talk.close_code()) == ("malformed_request", 1008)


def test_messages_have_a_size(site: Site, api: Api):
    with talking(site) as talk:
        talk.say(**ASK, key=api.key, instructions="x" * STRANGER_BYTES)
        assert (talk.hear_error(), talk.close_code()) == ("too_large", 1009)
    with talking(site, api.key) as talk:
        talk.say(**ASK, instructions="x" * MAX_MESSAGE_BYTES)
        assert talk.close_code() == 1009


def test_an_answer_can_be_cancelled_and_the_next_one_asked_for(
    site: Site, api: Api, script: Script
):
    script.pieces = until_cancelled
    with talking(site, api.key) as talk:
        talk.say(**ASK, id=1)
        assert [talk.hear()["event"], talk.hear()["event"]] == ["sources", "delta"]
        talk.say(**ASK, id=2)
        refused = talk.hear()
        assert (refused["id"], refused["data"]["error"]["code"]) == (2, "answer_in_progress")
        talk.say(type="cancel")
        ended = talk.hear()
        assert (ended["id"], ended["data"]["error"]["code"]) == (1, "cancelled")
        wait_until(lambda: script.cancelled == 1, seconds=30)
        script.pieces = Script().pieces
        talk.say(**ASK, id=3)
        assert {m["id"] for m in talk.hear_to_the_end()} == {3}


def test_a_client_that_leaves_ends_the_answer(site: Site, api: Api, script: Script):
    script.pieces = until_cancelled
    for leave in ("close", "vanish"):
        with talking(site, api.key) as talk:
            talk.say(**ASK)
            talk.hear()
            talk.hear()
            if leave == "vanish":
                talk.socket.socket.shutdown(2)
        wait_until(lambda: script.ended == len(script.requests))
    assert script.cancelled == 2


def test_a_client_that_stops_reading_is_cut_off(site: Site, api: Api, script: Script):
    script.pieces = endless
    with talking(site, api.key, max_queue=1) as talk:
        talk.say(**ASK)
        wait_until(lambda: script.ended, seconds=20)


def test_heartbeats_come_while_a_model_thinks(site: Site, api: Api, script: Script, settings: Any):
    settings.ANSWER_RUNS = {**settings.ANSWER_RUNS, "heartbeat": 0.1}
    script.pieces = until_cancelled
    with talking(site, api.key) as talk:
        talk.say(**ASK, id=7)
        assert [talk.hear()["event"] for _ in range(4)] == [
            "sources",
            "delta",
            "heartbeat",
            "heartbeat",
        ]


@pytest.mark.parametrize(
    ("headers", "is_let_in"),
    [
        ({}, True),
        ({"Origin": "http://localhost:3000"}, True),
        ({"Origin": "https://evil.example"}, False),
        ({"Origin": "null"}, False),
        ({"Origin": "https://localhost.evil.example"}, False),
        ({"Host": "localhost"}, False),  # a second one
    ],
)
def test_pages_of_other_sites_are_not_let_in(
    site: Site, api: Api, headers: dict[str, str], is_let_in: bool
):
    if is_let_in:
        with talking(site, api.key, additional_headers=headers):
            return
    with pytest.raises(InvalidStatus) as refused, talking(site, additional_headers=headers):
        pass
    assert refused.value.response.status_code == 403


def test_a_name_that_is_not_ours_is_not_answered_to(site: Site):
    address = site.socket_url.replace("127.0.0.1", "evil.example")
    with (
        create_connection(("127.0.0.1", site.port)) as plain,
        pytest.raises(InvalidStatus),
        talking(site, address=address, sock=plain),
    ):
        pass


def test_other_addresses_take_no_sockets(site: Site):
    for path in ("/api/v1/answer", "/", "/api/v1/jobs"):
        with pytest.raises(InvalidStatus):
            connect(f"ws://127.0.0.1:{site.port}{path}")


def test_strangers_open_only_so_many_sockets_whatever_key_they_claim(
    site: Site, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("ragsite.web.guards.stream_limit.open_streams.per_owner", 1)
    first, second = ({"Authorization": f"Bearer rs_{n}"} for n in (1, 2))
    with (
        talking(site, additional_headers=first),
        pytest.raises(InvalidStatus),
        talking(site, additional_headers=second),
    ):
        pass


def test_a_server_that_stops_closes_its_sockets(site: Site, api: Api, script: Script):
    script.pieces = until_cancelled
    with talking(site, api.key) as talk:
        talk.say(**ASK)
        talk.hear()
        talk.hear()
        site.server.should_exit = True
        assert talk.close_code() == 1012
    wait_until(lambda: script.cancelled == 1, seconds=30)
