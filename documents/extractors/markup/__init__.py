"""Markup languages: Markdown, reStructuredText, Org, XML, and front matter.

In, out and imports as in documents.extractors.
"""
