"""Remembering conversations: /memories."""
