"""For operators who look into the index: why a search found a chunk or not, what is near it, and
how two profiles compare.

Takes a chunk and a question, or a reindex; returns every stage's verdict, or a report. May import
the whole search; the admin, the API and the commands import it, and no search does.
"""
