"""Web pages and EPUB books: their main content as text and blocks.

In, out and imports as in documents.extractors.
"""
