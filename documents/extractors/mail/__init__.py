"""E-mail messages: .eml and Outlook's .msg. HTML bodies are read by the html package.

In, out and imports as in documents.extractors.
"""
