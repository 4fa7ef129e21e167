"""The routes of OpenAI's API at /v1: thin entry points to the same pipelines as /api/v1.

Requests and responses have OpenAI's shapes, extended with the exact quote and its position. Options
without a meaning here are refused by name, never ignored. May import everything of retrieval/ and
documents/; only the URL configuration imports it.
"""
