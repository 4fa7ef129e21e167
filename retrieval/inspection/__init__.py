"""Tools for operators: why a search found a chunk or not, which chunks are near it, and how two
profiles compare.

Takes a chunk and a question, or a reindex; returns every stage's result, or a report. May import
the whole search; the admin, the API and the commands import it, and no search does.
"""
