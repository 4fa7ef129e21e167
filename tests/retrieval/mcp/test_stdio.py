"""`manage.py mcp` as a client starts it: a child process that speaks over its input and output."""

import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest
from django.db import connections
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client

from documents.accounts import keys
from documents.models import ApiKey, Namespace
from ragsite.database.tenancy import operator

from ...client import Api
from ...project.service import ROOT
from ..tool_calls import ids_of
from .agent import outcome, settled


def environment(key: str = "") -> dict[str, str]:
    """The tests' own database."""
    own = {"DJANGO_SETTINGS_MODULE": "tests.settings", "LOG_LEVEL": "INFO"}
    return {**os.environ, **own, **({"RAGSITE_API_KEY": key} if key else {})}


def talk(
    act: Callable[[Client], Awaitable[Any]], *options: str, key: str = "", era: str = "auto"
) -> Any:
    async def run() -> Any:
        program = StdioServerParameters(
            command=sys.executable,
            args=["manage.py", "mcp", *options],
            env=environment(key),
            cwd=str(ROOT),
        )
        async with Client(stdio_client(program), mode=era, read_timeout_seconds=60) as client:
            return await outcome(act(client))

    return settled(anyio.run(run))


def refused(*options: str, key: str = "") -> str:
    done = subprocess.run(
        [sys.executable, "manage.py", "mcp", *options],
        cwd=ROOT,
        env=environment(key),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert done.stdout == ""
    return done.stderr


@pytest.fixture
def key(tenant: Namespace) -> str:
    with operator():
        return keys.issue(tenant, scopes=["read"])[1]


def test_an_agent_searches_reads_and_is_kept_from_writing(
    library: Api, tenant: Namespace, key: str, era: str
):
    async def act(client: Client) -> Any:
        tools = {tool.name for tool in (await client.list_tools()).tools}
        found = await client.call_tool("search", {"query": "Who needs a pilot?"})
        first = found.structured_content["results"][0]
        fetched = await client.call_tool("fetch", {"id": first["id"]})
        resources = await client.list_resources()
        denied = await client.call_tool("delete_document", {"document_id": first["document_id"]})
        return tools, first, fetched.structured_content, resources.resources, denied

    tools, first, fetched, resources, denied = talk(act, key=key, era=era)
    assert tools == {"search", "fetch", "ask", "list_documents", "recall"}
    assert first["title"] == "The Harbour"
    assert fetched["metadata"]["quote"] in fetched["text"]
    assert len(resources) == 3
    assert denied.is_error
    assert len(ids_of(tenant)) == 3


def test_by_name_it_has_the_scopes_it_was_given(library: Api, tenant: Namespace):
    document_id = ids_of(tenant)["The Harbour"]

    async def act(client: Client) -> Any:
        return await client.call_tool("delete_document", {"document_id": document_id})

    assert talk(act, "--namespace", "tenant").is_error
    assert not talk(act, "--namespace", "tenant", "--scopes", "read,write").is_error
    assert "The Harbour" not in ids_of(tenant)


def others_connected() -> int:
    connections.close_all()  # of this thread
    with connections["owner"].cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity "
            "WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
        )
        count: int = cursor.fetchone()[0]
    connections.close_all()
    return count


@pytest.mark.usefixtures("library")
def test_between_calls_it_keeps_no_connection(key: str):
    async def act(client: Client) -> int:
        await client.call_tool("search", {"query": "Who needs a pilot?"})
        return await anyio.to_thread.run_sync(others_connected)

    before = others_connected()
    assert talk(act, key=key) <= before


@pytest.mark.usefixtures("library")
def test_a_key_that_is_revoked_meanwhile_does_nothing_more(key: str):
    def revoke() -> None:
        with operator():
            keys.revoke(ApiKey.objects.filter(prefix=key.split("_")[1]))
        connections.close_all()

    async def act(client: Client) -> Any:
        assert not (await client.call_tool("list_documents", {})).is_error
        await anyio.to_thread.run_sync(revoke)
        return await client.call_tool("list_documents", {})

    with pytest.raises(MCPError, match="has been revoked"):
        talk(act, key=key)


@pytest.mark.usefixtures("tenant")
def test_it_says_what_it_needs(key: str):
    assert "--namespace SLUG" in refused()
    assert "no namespace 'nobody'" in refused("--namespace", "nobody")
    assert "--scopes" in refused("--namespace", "tenant", "--scopes", "admin")
    assert "leave out --namespace" in refused("--namespace", "tenant", key=key)
    told = refused(key=f"rs_{'0' * 12}_{'x' * 43}")
    assert "RAGSITE_API_KEY: This API key is not valid." in told
    assert "xxx" not in told
