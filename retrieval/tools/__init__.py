"""What an agent may do with a namespace: search it, and read, add and delete its documents.

In: a ToolContext (whose namespace, which key and scopes, which request), a tool's name and its
arguments as JSON. Out: plain JSON data, or an ApiError with a stable code. `registry.py` lists the
tools a caller may use, `calling.py` runs one; neither knows of HTTP, so every door (the API's
/tools, and whatever protocol comes next) uses both. Each tool calls what the API's views call. May
import documents, retrieval and the request and response shapes of their APIs, never a view.
"""
