"""The page for asking: takes a question, and streams an answer with its sources.

Thin entry points to the answer pipeline for users who are signed in. May import documents.pages and
the shapes of retrieval.api.
"""
