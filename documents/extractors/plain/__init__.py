"""Plain text: prose, source code, transcripts.

In, out and imports as in documents.extractors.
"""
