"""Rank candidates: fusion, relevance, thresholds, diversity.

Takes scored candidates and returns them ranked, with the reason why some were dropped. Pure Python
and NumPy: imports retrieval's values, no Django and no database.
"""
