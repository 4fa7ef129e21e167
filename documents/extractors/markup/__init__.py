"""Markup languages: Markdown, reStructuredText, Org, XML, and front matter."""
