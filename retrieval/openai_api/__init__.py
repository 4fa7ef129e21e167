"""What clients of OpenAI's API already speak, at /v1: thin doors to the same pipelines as /api/v1.

Requests and responses have OpenAI's shapes, extended with the exact quote and its position. Options
that have no meaning here are refused by name, never ignored. May import everything of retrieval/
and documents/; nothing imports it but the URL configuration.
"""
