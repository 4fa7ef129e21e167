"""Tables and structured data: CSV, JSON, notebooks, and the tables of Office files.

In, out and imports as in documents.extractors.
"""
