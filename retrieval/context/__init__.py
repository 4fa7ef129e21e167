"""Turn ranked candidates into passages and the context for a language model.

Takes ranked candidates and returns hits with text and position, notes and diagnostics, and the
numbered context within a token budget. Reads the database inside namespace(); may import candidates
and ranking, never search.
"""
