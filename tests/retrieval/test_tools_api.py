"""The doors of the tools: GET /tools and POST /tools/{name}."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.core.cache import caches
from django.test import Client

from documents.accounts import keys
from documents.models import Namespace
from ragsite.database.tenancy import operator
from retrieval.tools.registry import TOOLS

from ..client import Api


@pytest.fixture(autouse=True)
def empty() -> Iterator[None]:
    yield
    caches["results"].clear()


def names(api: Api, query: str = "") -> list[str]:
    return [tool["name"] for tool in api.get(f"tools{query}").body["tools"]]


def test_a_key_is_shown_the_tools_it_may_use(
    api: Api, api_of: Callable[..., Api], tenant: Namespace
):
    assert names(api) == list(TOOLS)
    assert "delete_document" not in names(api_of(tenant, ("read",)))
    changing = ["index_document", "delete_document", "remember", "forget"]
    assert names(api_of(tenant, ("write",))) == changing
    shown = {tool["name"]: tool for tool in api.get("tools").body["tools"]}
    assert shown["delete_document"]["is_destructive"] is True
    assert shown["ragSearch"]["is_read_only"] is True
    assert shown["ragSearch"]["input_schema"]["additionalProperties"] is False


def test_tools_come_as_openai_and_anthropic_take_them(api: Api):
    openai = api.get("tools?format=openai").body["tools"][0]
    assert (openai["type"], openai["function"]["name"]) == ("function", "ragSearch")
    anthropic = api.get("tools?format=anthropic").body["tools"][0]
    assert anthropic["input_schema"]["type"] == "object"
    refused = api.get("tools?format=mistral")
    assert (refused.status, refused.code) == (422, "invalid_request")
    assert "anthropic" in refused.message


def test_a_tool_is_called_with_its_arguments(library: Api):
    answer = library.post("tools/ragSearch", {"arguments": {"query": "boats before dawn"}})
    assert answer.status == 200
    assert answer.body["name"] == "ragSearch"
    assert answer.body["cached"] is False
    assert "Fishing boats" in answer.body["result"]["results"][0]["content"]
    again = library.post("tools/ragSearch", {"arguments": {"query": "boats before dawn"}}).body
    assert again["cached"] is True
    assert again["result"] == answer.body["result"]
    assert library.post("tools/list_documents").status == 200  # without arguments, too


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"query": "boats"}, 422, "invalid_request"),  # not wrapped in `arguments`
        ({"arguments": {"query": "x", "top_k": 3}}, 422, "invalid_arguments"),
        ({"arguments": ["boats"]}, 422, "invalid_arguments"),
        ({"arguments": None}, 422, "invalid_request"),
        ({"arguments": {"query": {"$gt": ""}}}, 422, "invalid_arguments"),
        ([], 422, "invalid_request"),
    ],
)
def test_a_call_that_does_not_fit_says_why(api: Api, body: Any, status: int, code: str):
    answer = api.post("tools/ragSearch", body)
    assert (answer.status, answer.code) == (status, code)


def test_errors_name_the_argument_and_keep_the_envelope(api: Api):
    answer = api.post("tools/ragSearch", {"arguments": {"query": "x", "filters": {"tags": "a"}}})
    assert answer.body["error"]["details"]["errors"][0]["path"] == "filters.tags"
    assert answer.body["error"]["request_id"] == answer.headers["X-Request-ID"]
    unknown = api.post("tools/nonsense", {"arguments": {}})
    assert (unknown.status, unknown.code) == (404, "unknown_tool")


def test_a_reader_is_refused_what_writes(api_of: Callable[..., Api], tenant: Namespace):
    refused = api_of(tenant, ("read",)).post(
        "tools/index_document", {"arguments": {"content": "x"}}
    )
    assert (refused.status, refused.code) == (403, "insufficient_scope")
    assert "'write'" in refused.message


def test_thirty_calls_a_minute_and_the_rest_has_to_wait(library: Api):
    answers = [library.post("tools/list_documents", {"arguments": {}}) for _ in range(31)]
    assert [answer.status for answer in answers] == [200] * 30 + [429]
    assert answers[0].headers["RateLimit-Limit"] == "30"
    assert answers[0].headers["RateLimit-Policy"] == '30;w=60;name="agent"'
    assert answers[29].headers["RateLimit-Remaining"] == "0"
    refused = answers[30]
    assert refused.code == "rate_limited"
    assert int(refused.headers["Retry-After"]) >= 1
    assert 'name="agent"' in refused.headers["RateLimit-Policy"]
    assert library.get("documents").status == 200  # other routes have limits of their own
    assert library.get("tools").status == 200


def test_calls_that_fail_count_and_a_key_can_have_a_limit_of_its_own(
    client: Client, tenant: Namespace
):
    with operator():
        api = Api(client, keys.issue(tenant, scopes=["read"], limits={"agent": 2})[1])
        free = Api(client, keys.issue(tenant, scopes=["read"], limits={"agent": 0})[1])
    statuses = [api.post("tools/nonsense", {"arguments": {}}).status for _ in range(3)]
    assert statuses == [404, 404, 429]
    statuses = [free.post("tools/list_documents", {"arguments": {}}).status for _ in range(35)]
    assert set(statuses) == {200}
