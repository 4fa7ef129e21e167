"""The configurations of MCP clients in the documentation: read as those clients read them, and
driven with the SDK's own client."""

import json
import re
import shlex
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
import yaml
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from ragsite_client import Client as Ragsite

from tests.project.service import ROOT, Service

PAGES = ("docs/recipes.md", "docs/mcp.md")
TEXT = "# Glaze\n\nCeladon is fired at 1280 degrees.\n"
_YAML = re.compile(r"^```yaml\n(mcpServers:\n.*?)^```$", re.MULTILINE | re.DOTALL)
_JSON = re.compile(r"^```json\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"^claude mcp add .*$", re.MULTILINE)
_VARIABLE = re.compile(r"\$\{(?:env:)?(\w+)\}|\$(\w+)")


def configurations(page: str) -> list[dict[str, Any]]:
    """The servers of every block for a client's configuration file."""
    blocks = map(json.loads, _JSON.findall((ROOT / page).read_text()))
    return [block["mcpServers"]["ragsite"] for block in blocks if "mcpServers" in block]


def librechats() -> dict[str, Any]:
    (block,) = _YAML.findall((ROOT / "docs" / "recipes.md").read_text())
    server: dict[str, Any] = yaml.safe_load(block)["mcpServers"]["ragsite"]
    assert server.pop("type") == "streamable-http"
    return server


def commands(page: str) -> list[dict[str, Any]]:
    """What `claude mcp add` would write into .mcp.json."""
    found = []
    for line in _COMMAND.findall((ROOT / page).read_text()):
        words = shlex.split(line)
        assert words[:5] == ["claude", "mcp", "add", "--transport", "http"]
        name, url, option, header = words[5:]
        assert (name, option) == ("ragsite", "--header")
        field, value = header.split(": ", 1)
        found.append({"type": "http", "url": url, "headers": {field: value}})
    return found


@pytest.fixture(scope="module")
def key(service: Service) -> str:
    """One that only reads, as the pages recommend."""
    with Ragsite(service.url, service.key) as client:
        client.ingest_text(TEXT, source_uri="notes/glaze", wait=120)
    made = service.command("api_key", "create", "--namespace", "default", "--scopes", "read").stdout
    found = re.search(r"rs_[\w-]+", made)
    assert found, made
    return found[0]


def expanded(text: str, key: str) -> str:
    """As clients replace variables of the environment."""
    variables = {"RAGSITE_API_KEY": key}
    return _VARIABLE.sub(lambda found: variables[found[1] or found[2]], text)


async def searched(client: Client) -> tuple[set[str], str]:
    tools = {tool.name for tool in (await client.list_tools()).tools}
    called = await client.call_tool("search", {"query": "How hot is celadon fired?", "limit": 1})
    assert called.structured_content is not None
    return tools, called.structured_content["results"][0]["text"]


def over_http(server: dict[str, Any], key: str, service: Service) -> tuple[set[str], str]:
    url = server["url"].replace("http://localhost:8000", service.url)
    assert url.startswith(service.url)
    headers = {name: expanded(value, key) for name, value in server["headers"].items()}

    async def run() -> tuple[set[str], str]:
        async with AsyncExitStack() as stack:
            http = await stack.enter_async_context(httpx2.AsyncClient(headers=headers, timeout=60))
            transport = streamable_http_client(url, http_client=http)
            return await searched(await stack.enter_async_context(Client(transport)))

    return anyio.run(run)


def over_stdio(server: dict[str, Any], key: str, service: Service) -> tuple[set[str], str]:
    command = server["command"].replace("/path/to/ragsite/.venv/bin/python", sys.executable)
    arguments = [one.replace("/path/to/ragsite", str(ROOT)) for one in server["args"]]
    assert Path(command).exists()
    assert Path(arguments[0]).exists()
    given = {name: key if value == "rs_…" else value for name, value in server["env"].items()}
    parameters = StdioServerParameters(
        command=command, args=arguments, env={**service.environment, **given}
    )

    async def run() -> tuple[set[str], str]:
        async with Client(stdio_client(parameters)) as client:
            return await searched(client)

    return anyio.run(run)


@pytest.mark.parametrize("page", PAGES)
def test_each_configuration_connects_and_finds(page: str, service: Service, key: str):
    servers = [*configurations(page), *commands(page)]
    assert [("url" in one, "command" in one) for one in servers].count((True, False)) == 3
    assert sum("command" in one for one in servers) == 1
    for server in servers:
        connect = over_http if "url" in server else over_stdio
        tools, text = connect(server, key, service)
        assert {"search", "fetch", "ask", "list_documents"} <= tools
        assert not tools & {"index_document", "delete_document"}
        assert "Celadon is fired at 1280 degrees." in text


def test_librechats_configuration_connects_and_finds(service: Service, key: str):
    tools, text = over_http(librechats(), key, service)
    assert "search" in tools
    assert "Celadon is fired at 1280 degrees." in text
