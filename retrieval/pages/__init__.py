"""The page where people ask: a question in, a streamed answer with its sources out.

Thin doors to the answer pipeline for people who are signed in. May import documents.pages and the
shapes of retrieval.api.
"""
