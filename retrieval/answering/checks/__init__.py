"""Checks between a writer and the client: markers, quotes, citations, support.

Takes text as it is written, and the evidence; returns text that may be sent, with exact citations.
Plain Python. May import documents.text, language models and values of retrieval.answering.
"""
