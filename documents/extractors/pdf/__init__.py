"""PDF files. extractor.py puts the steps together: lines, layout, headings, tables, scans.

In, out and imports as in documents.extractors.
"""
