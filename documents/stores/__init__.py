"""Search stores outside of PostgreSQL (Qdrant, Chroma): their interface, feeding and audit.

PostgreSQL stays the truth: vectors, words and texts are there under every profile. A store holds a
copy of vectors and words, fed from the table of changes (outbox.py), and answers with ids only,
which are read back under row-level security (retrieval/candidates/outside.py). A number in the
profile's row and in the store says whether it still holds what it was given (marks.py). The engines
(qdrant.py, qdrant_making.py, chroma.py), base.py and facets.py know nothing of Django; the rest
imports models and the platform, nothing above them.
"""
