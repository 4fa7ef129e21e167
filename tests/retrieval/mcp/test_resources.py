"""A namespace's documents as resources, read by the SDK's own client in both eras."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from mcp import Client, MCPError

from documents.models import Namespace
from retrieval.mcp import resources

from ..tool_calls import ids_of
from .agent import Agent


def listed(agent: Agent, cursor: str | None = None) -> Any:
    async def act(client: Client) -> Any:
        return await client.list_resources(cursor=cursor)

    return agent.do(act)


def read(agent: Agent, uri: str) -> Any:
    async def act(client: Client) -> Any:
        return await client.read_resource(uri)

    return agent.do(act)


def refusal(agent: Agent, uri: str) -> str:
    with pytest.raises(MCPError) as caught:
        read(agent, uri)
    assert caught.value.error.code == -32602
    return caught.value.error.message


def test_every_document_is_a_resource_with_its_text(agent: Agent, tenant: Namespace):
    found = {one.title: one for one in listed(agent).resources}
    assert set(found) == {"The Lighthouse", "The Harbour", "kitchen.txt"}
    (contents,) = read(agent, found["The Harbour"].uri).contents
    assert contents.uri == f"ragsite://documents/{ids_of(tenant)['The Harbour']}"
    assert contents.mime_type == "text/plain"
    assert contents.text == agent.result("fetch", id=ids_of(tenant)["The Harbour"])["text"]


def test_they_come_a_page_at_a_time(agent: Agent, monkeypatch: Any):
    monkeypatch.setattr(resources, "PAGE", 2)
    first = listed(agent)
    second = listed(agent, first.next_cursor)
    assert [len(first.resources), len(second.resources)] == [2, 1]
    assert second.next_cursor is None
    assert len({one.uri for one in [*first.resources, *second.resources]}) == 3
    with pytest.raises(MCPError, match="cursor"):
        listed(agent, "nonsense")


def test_there_is_a_template_for_them(agent: Agent):
    async def act(client: Client) -> Any:
        return await client.list_resource_templates()

    (template,) = agent.do(act).resource_templates
    assert template.uri_template == "ragsite://documents/{id}"


def test_another_tenants_are_like_ones_that_nobody_has(
    agent: Agent, stranger: Agent, tenant: Namespace
):
    assert listed(stranger).resources == []
    theirs = f"ragsite://documents/{ids_of(tenant)['The Harbour']}"
    nobodys = "ragsite://documents/00000000-0000-4000-8000-000000000000"
    assert refusal(stranger, theirs) == refusal(stranger, nobodys)
    assert read(agent, theirs).contents


@pytest.mark.parametrize("uri", ["ragsite://documents/7", "file:///etc/passwd", "x"])
def test_other_addresses_are_no_resources(
    agent_of: Callable[..., Agent], tenant: Namespace, uri: str
):
    assert re.match(r"uri: must be ragsite://documents/\{id\}", refusal(agent_of(tenant), uri))


def test_a_text_that_is_too_long_is_refused_with_another_way(
    agent: Agent, tenant: Namespace, monkeypatch: Any
):
    monkeypatch.setattr(resources, "MAX_CHARS", 10)
    told = refusal(agent, f"ragsite://documents/{ids_of(tenant)['The Harbour']}")
    assert "fetch" in told


def test_a_key_that_may_not_read_reads_none(
    agent_of: Callable[..., Agent], agent: Agent, tenant: Namespace
):
    writer = agent_of(tenant, ("write",))
    assert "'read'" in refusal(writer, f"ragsite://documents/{ids_of(tenant)['The Harbour']}")
    with pytest.raises(MCPError, match="'read'"):
        listed(writer)
