"""Tools for agents: search a namespace, and read, add and delete its documents.

In: a ToolContext (namespace, key, scopes and request), a tool's name and its arguments as JSON.
Out: plain JSON data, or an ApiError with a stable code. `registry.py` lists the tools a caller may
use, `calling.py` runs one; neither depends on HTTP, so the API's /tools and other protocols use
both. Each tool calls what the API's views call. May import documents, retrieval and the request and
response shapes of their APIs, never a view.
"""
