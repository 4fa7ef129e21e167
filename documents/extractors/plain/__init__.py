"""Plain text: prose, source code, transcripts."""
