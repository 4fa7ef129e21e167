"""Remembering conversations: /memories.

In: turns. Out: receipts, and lists of turns and sessions. May import what `documents.api` may, and
documents.conversations.
"""
