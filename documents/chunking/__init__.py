"""From a text and its blocks to passages: methods, boundaries, packing, headers.

In: extracted text with its structure. Out: passages with exact spans. Plain Python: may import
documents.text and documents.passages.
"""
