"""Readers of plain text: prose, source code, transcripts."""
