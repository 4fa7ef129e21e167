"""Conversations: turns in, documents out.

Turns are stored as rows (`remembering.py`), read as one transcript for each session and day
(`transcripts.py`), which the ingestion pipeline indexes like any other document, and deleted with
everything made of them (`erasing.py`). May import chunking, extractors, text, ingestion, jobs,
accounts and models.
"""
