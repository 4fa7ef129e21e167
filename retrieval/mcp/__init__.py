"""The Model Context Protocol: the tools and documents of a namespace, for agents.

In: messages over HTTP (/mcp, http_door.py) or over standard input and output (`manage.py mcp`,
stdio.py), with an API key. Out: results of retrieval/tools/, and documents as resources. server.py
is the same for both. The protocol itself is implemented by the official SDK, `mcp`, which is
imported only here; and this room is imported only by the web process and the command, because the
SDK takes a while to load. May import documents, retrieval.tools and ragsite.
"""
