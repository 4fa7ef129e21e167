"""All tools, and the list of those that a caller may use."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal, get_args

from ragsite.platform.errors import ApiError

from . import answers, document_changes, documents, memory, searching
from .base import Tool, ToolContext

ToolFormat = Literal["ragsite", "openai", "anthropic"]
FORMATS: tuple[ToolFormat, ...] = get_args(ToolFormat)

TOOLS: dict[str, Tool] = {
    tool.name: tool
    for tool in (
        searching.RAG_SEARCH,
        answers.ANSWER,
        documents.SEARCH_DOCUMENTS,
        documents.LIST_DOCUMENTS,
        documents.GET_DOCUMENT,
        document_changes.INDEX_DOCUMENT,
        document_changes.DELETE_DOCUMENT,
        document_changes.GET_JOB,
        memory.RECALL,
        memory.REMEMBER,
        memory.FORGET,
    )
}


def tools_for(context: ToolContext, tools: Mapping[str, Tool] = TOOLS) -> list[Tool]:
    """The tools this caller may use."""
    return [tool for tool in tools.values() if context.may(tool.scope)]


def find_tool(name: str, tools: Mapping[str, Tool] = TOOLS) -> Tool:
    tool = tools.get(name)
    if tool is None:
        raise ApiError(
            "unknown_tool",
            f"There is no such tool; there are {', '.join(tools)}.",
            http_status=404,
            details={"available": list(tools)},
        )
    return tool


def definitions(tools: Iterable[Tool], format_: ToolFormat = "ragsite") -> list[dict[str, Any]]:
    """Return the tools in our format, or in that of a language model's API."""
    define = {"ragsite": _ours, "openai": _openai, "anthropic": _anthropic}[format_]
    return [define(tool) for tool in tools]


def _ours(tool: Tool) -> dict[str, Any]:
    return {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "input_schema": tool.input_schema,
        "scope": tool.scope,
        "is_read_only": tool.is_read_only,
        "is_destructive": tool.is_destructive,
    }


def _openai(tool: Tool) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": _bare(tool)}
    return {"type": "function", "function": function}


def _anthropic(tool: Tool) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "input_schema": _bare(tool)}


def _bare(tool: Tool) -> dict[str, Any]:
    """Remove the dialect's URI, which some providers reject."""
    return {key: value for key, value in tool.input_schema.items() if key != "$schema"}
