"""From ranked candidates to passages and the context for a language model.

In: ranked candidates. Out: hits with their text and place, notes and diagnostics, and the numbered
context within a token budget. Reads the database inside namespace(); may import candidates and
ranking, never search.
"""
