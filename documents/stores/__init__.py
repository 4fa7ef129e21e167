"""Search stores outside of PostgreSQL (Qdrant, Chroma): their interface, feeding and audit.

PostgreSQL remains the source of truth and has vectors, words and texts under every profile. A store
has a copy of vectors and words, fed from the table of changes (outbox.py), and returns only ids,
which are read under row-level security (retrieval/candidates/outside.py). A number in the profile's
row and in the store shows whether the store still has everything that was written (marks.py). The
engines (qdrant.py, qdrant_making.py, chroma.py), base.py and facets.py do not use Django; the other
modules import models and the platform.
"""
