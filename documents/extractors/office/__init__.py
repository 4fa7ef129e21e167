"""Office files: Word, slides, spreadsheets, OpenDocument, RTF.

In, out and imports as in documents.extractors.
"""
