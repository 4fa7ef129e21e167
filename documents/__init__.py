"""From a file to searchable chunks.

In: files, texts and URLs. Out: documents with their chunks and vectors, facts and conversations,
and everything that belongs to a namespace. May import ragsite's platform, never retrieval or
evaluation.
"""
