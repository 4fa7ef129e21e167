"""The tools offered over MCP, and how they are described to clients."""

from dataclasses import replace

from mcp import types

from retrieval.tools.base import Tool
from retrieval.tools.connectors import ASK, FETCH, SEARCH
from retrieval.tools.document_changes import DELETE_DOCUMENT, INDEX_DOCUMENT
from retrieval.tools.documents import LIST_DOCUMENTS
from retrieval.tools.memory import FORGET, RECALL, REMEMBER

# The descriptions at /api/v1/tools name tools that are not offered here.
_LIST_DOCUMENTS = replace(
    LIST_DOCUMENTS,
    description="List the documents of the knowledge base, newest first, a page at a time. Use it "
    "to see what there is and in which state; to find something in them use search. If "
    "next_cursor is not null there are more: call again with it as cursor.",
)
_INDEX_DOCUMENT = replace(
    INDEX_DOCUMENT,
    description="Add a document to the knowledge base, from text or from a public web address, so "
    "that search finds it. The same source_uri again replaces the document with a new version; "
    "the same content again changes nothing. Waits until it can be searched (status ready); if "
    "status is still queued or processing, look at list_documents a little later. status failed "
    "comes with the reason in error.",
)

TOOLS: dict[str, Tool] = {
    tool.name: tool
    for tool in (
        SEARCH,
        FETCH,
        ASK,
        RECALL,
        _LIST_DOCUMENTS,
        REMEMBER,
        FORGET,
        _INDEX_DOCUMENT,
        DELETE_DOCUMENT,
    )
}
REACHES_OUT = frozenset({_INDEX_DOCUMENT.name})  # to addresses that the caller names


def definition(tool: Tool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=dict(tool.input_schema),
        output_schema=None if tool.output_schema is None else dict(tool.output_schema),
        annotations=types.ToolAnnotations(
            title=tool.title,
            read_only_hint=tool.is_read_only,
            destructive_hint=tool.is_destructive,
            # Repeating a call changes nothing, except that a repeated fact becomes more certain.
            idempotent_hint=tool is not REMEMBER,
            open_world_hint=tool.name in REACHES_OUT,
        ),
    )
