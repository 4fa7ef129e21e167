"""/mcp as plain HTTP: keys, hosts, methods, limits, headers and logs, before the SDK is asked."""

import logging
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest
from django.utils import timezone

from documents.accounts import keys
from documents.models import ApiKey, Namespace
from ragsite.database.tenancy import operator
from ragsite.web.guards.slots import Slots
from retrieval.answering import answer as pipeline
from retrieval.api.answers import runs
from retrieval.mcp import calls
from retrieval.mcp.http_door import PATH

from ...client import Api
from ...project.answer_site import Site
from ..scripted_pipeline import Script, until_cancelled, wait_until
from .agent import Agent

JSON = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
OTHER_METHODS = ("GET", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


def message(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def calling(name: str, **arguments: Any) -> dict[str, Any]:
    return message("tools/call", name=name, arguments=arguments)


@pytest.fixture
def http(site: Site, api: Api) -> Iterator[httpx2.Client]:
    headers = {**JSON, "Authorization": f"Bearer {api.key}"}
    with httpx2.Client(base_url=site.url, headers=headers, timeout=30) as client:
        yield client


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Iterator[Script]:
    made = Script()
    monkeypatch.setattr(pipeline, "answer", made.answer)
    yield made
    wait_until(lambda: made.ended == len(made.requests))
    wait_until(lambda: runs.slots.count() == 0)


# -- keys ----------------------------------------------------------------------------------------


def bad_keys(tenant: Namespace, good: str) -> dict[str, str]:
    with operator():
        expired, expired_key = keys.issue(tenant, scopes=["read"])
        revoked, revoked_key = keys.issue(tenant, scopes=["read"])
        ApiKey.objects.filter(pk=expired.pk).update(expires_at=timezone.now())
        ApiKey.objects.filter(pk=revoked.pk).update(revoked_at=timezone.now())
    _, prefix, secret = good.split("_", 2)
    return {
        "nonsense": "invalid_key",
        f"rs_{prefix}_{'x' * 43}": "invalid_key",
        f"rs_{'0' * 12}_{secret}": "invalid_key",
        expired_key: "key_expired",
        revoked_key: "key_revoked",
    }


def test_without_a_good_key_nothing_is_answered(site: Site, api: Api, tenant: Namespace):
    with httpx2.Client(base_url=site.url, headers=JSON, timeout=30) as http:
        for method in ("POST", *OTHER_METHODS):
            body = PING if method == "POST" else None
            for key, code in {"": "not_authenticated", **bad_keys(tenant, api.key)}.items():
                headers = {"Authorization": f"Bearer {key}"} if key else {}
                refused = http.request(method, PATH, headers=headers, json=body)
                assert refused.status_code == 401, (method, code)
                assert refused.headers["content-type"] == "application/json"
                assert refused.headers["WWW-Authenticate"].startswith("Bearer")
                if method != "HEAD":
                    assert refused.json()["error"]["code"] == code


def test_a_revoked_key_does_nothing_more(site: Site, agent_of: Callable[..., Agent], tenant: Any):
    agent = agent_of(tenant)
    agent.result("list_documents")
    with operator():
        ApiKey.objects.filter(prefix=agent.key.split("_")[1]).update(revoked_at=timezone.now())
    headers = {**JSON, "Authorization": f"Bearer {agent.key}"}
    refused = httpx2.post(site.mcp_url, headers=headers, json=calling("list_documents"))
    assert (refused.status_code, refused.json()["error"]["code"]) == (401, "key_revoked")


def test_wrong_keys_are_limited_by_address(site: Site, settings: Any):
    settings.WRONG_KEYS_PER_MINUTE = 2
    headers = {**JSON, "Authorization": f"Bearer rs_{'0' * 12}_{'x' * 43}"}
    told = [httpx2.post(site.mcp_url, headers=headers, json=PING).status_code for _ in range(3)]
    assert told == [401, 401, 429]


# -- methods, hosts, bodies ----------------------------------------------------------------------


def test_a_slash_at_the_end_is_the_same_address(http: httpx2.Client):
    there, slashed = (http.post(path, json=PING) for path in (PATH, f"{PATH}/"))
    assert (slashed.status_code, slashed.json()) == (200, there.json())
    assert http.get(f"{PATH}/").status_code == 405


@pytest.mark.parametrize("method", OTHER_METHODS)
def test_there_are_no_streams_and_no_sessions(http: httpx2.Client, method: str):
    refused = http.request(method, PATH)
    assert refused.status_code == 405
    assert refused.headers["Allow"] == "POST"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 403),
        ({"Origin": "https://evil.example"}, 403),
        ({"Host": "docs.example.com"}, 200),
        ({"Host": "docs.example.com:8443", "Origin": "https://docs.example.com"}, 200),
    ],
)
def test_hosts_and_origins_are_those_of_the_settings(
    http: httpx2.Client, settings: Any, headers: dict[str, str], status: int
):
    settings.ALLOWED_HOSTS = [".example.com"]
    assert http.post(PATH, headers=headers, json=PING).status_code == status


def test_links_lead_to_the_address_that_was_called(
    library: Api, http: httpx2.Client, settings: Any
):
    settings.ALLOWED_HOSTS, settings.BEHIND_TLS = ["docs.example.com"], True
    headers = {"Host": "docs.example.com", "X-Forwarded-Proto": "https"}

    def url() -> str:
        told = http.post(PATH, headers=headers, json=calling("search", query="Who needs a pilot?"))
        found = told.json()["result"]["structuredContent"]["results"]
        return str(found[0]["url"])

    assert url().startswith("https://docs.example.com/d/")
    settings.BEHIND_TLS = False  # the header may be anybody's
    assert url().startswith("http://docs.example.com/d/")


def test_a_body_that_is_too_large_is_refused(http: httpx2.Client, settings: Any):
    too_long = "x" * (settings.BODIES["max_bytes"] + 1)
    refused = http.post(PATH, json=calling("index_document", content=too_long))
    assert (refused.status_code, refused.json()["error"]["code"]) == (413, "too_large")


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b'{"jsonrpc": "2.0"}', b"[" * 9999])
def test_what_is_no_message_is_refused(http: httpx2.Client, body: bytes):
    for headers in ({}, {"MCP-Protocol-Version": "2026-07-28"}):
        assert http.post(PATH, headers=headers, content=body).status_code == 400


# -- the same as other routes --------------------------------------------------------------------


def test_requests_and_calls_are_counted_and_headers_say_what_is_left(
    http: httpx2.Client, settings: Any
):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "read": 50, "agent": 3}
    assert http.post(PATH, json=PING).headers["RateLimit-Limit"] == "50"
    called = [http.post(PATH, json=calling("list_documents")) for _ in range(4)]
    assert [r.headers["RateLimit-Remaining"] for r in called] == ["2", "1", "0", "0"]
    assert [r.json()["result"]["isError"] for r in called] == [False, False, False, True]
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "read": 1}
    refused = http.post(PATH, json=PING)
    assert (refused.status_code, refused.json()["error"]["code"]) == (429, "rate_limited")
    assert int(refused.headers["Retry-After"]) > 0


def test_a_request_has_an_id_and_leaves_a_line(http: httpx2.Client, caplog: Any):
    caplog.set_level(logging.INFO)
    told = http.post(PATH, headers={"X-Request-ID": "mine-1"}, json=calling("list_documents"))
    assert told.headers["X-Request-ID"] == "mine-1"
    lines = {r.getMessage(): r for r in caplog.records if r.name.startswith("retrieval.")}
    assert lines["tool.called"].tool == "list_documents"
    done = lines["request.done"]
    assert (done.method, done.path, done.status) == ("POST", "/mcp", 200)
    assert "rs_" not in caplog.text


def test_something_broken_says_no_more_than_that(http: httpx2.Client, monkeypatch: Any):
    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr("retrieval.mcp.server.call_tool", broken)
    told = http.post(PATH, json=calling("list_documents"))
    assert told.json()["result"]["isError"]
    assert "secret detail" not in told.text
    assert "Something went wrong" in told.text


def test_calls_at_once_are_bounded(http: httpx2.Client, monkeypatch: Any):
    full = Slots(per_owner=0, total=0)
    monkeypatch.setattr(calls, "slots", full)
    told = http.post(PATH, json=calling("list_documents")).json()["result"]
    assert told["isError"]
    assert "calls under way" in told["content"][0]["text"]


# -- clients that leave --------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
def test_a_client_that_leaves_ends_its_answer(script: Script, http: httpx2.Client, version: str):
    script.pieces = until_cancelled
    modern = {
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    }
    asked = message("tools/call", name="ask", arguments={"question": "How high?"}, _meta=modern)
    headers = {
        "MCP-Protocol-Version": version,
        "Mcp-Method": "tools/call",
        "Mcp-Name": "ask",
    }
    with pytest.raises(httpx2.ReadTimeout):
        http.post(PATH, headers=headers, json=asked, timeout=6)
    wait_until(lambda: script.cancelled == 1)
    wait_until(lambda: calls.slots.count() == 0)


def test_a_client_that_leaves_is_not_waited_for(http: httpx2.Client):
    with pytest.raises(httpx2.ReadTimeout):  # nobody works: the document stays queued
        http.post(PATH, json=calling("index_document", content="x", wait=60), timeout=2)
    wait_until(lambda: calls.slots.count() == 0)
