"""POST /answer as JSON, server-sent events and WebSocket; its settings and prompt preview.

In: questions. Out: answers, whole or streamed. May import what `retrieval.api` may.
"""
