"""Tool results and errors in MCP's format."""

from typing import Any

import orjson
from mcp import MCPError, types

from ragsite.platform.errors import envelope_of
from retrieval.tools.base import InvalidArguments, Result

ERROR_META = "ragsite.error"  # code and request_id of an error, for programs


def tool_result(result: Result) -> types.CallToolResult:
    """Return the result twice: as one text item of JSON, which ChatGPT reads, and as structured
    content."""
    text = types.TextContent(type="text", text=orjson.dumps(result).decode())
    return types.CallToolResult(content=[text], structured_content=result)


def tool_error(error: Exception) -> types.CallToolResult:
    """Return the error as a sentence that a model can act on. An unknown tool is a protocol error,
    and is raised."""
    body = envelope_of(error)["error"]
    if body["code"] == "unknown_tool":
        raise MCPError(types.INVALID_PARAMS, body["message"], body["details"])
    message = _sentences(error) if isinstance(error, InvalidArguments) else body["message"]
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=message)],
        is_error=True,
        _meta={ERROR_META: {"code": body["code"], "request_id": body["request_id"]}},
    )


def protocol_error(error: Exception) -> MCPError:
    """The error of a request that is not a tool call."""
    body = envelope_of(error)["error"]
    is_ours = getattr(error, "status_code", 500) >= 500
    code = types.INTERNAL_ERROR if is_ours else types.INVALID_PARAMS
    return MCPError(code, body["message"], {"code": body["code"], "request_id": body["request_id"]})


def _sentences(error: InvalidArguments) -> str:
    wrong: list[dict[str, Any]] = error.details["errors"]
    problems = [(one["path"], one["message"].removesuffix(".")) for one in wrong]
    return " ".join(f"Argument `{path}`: {why}." if path else f"{why}." for path, why in problems)
