"""Rank candidates: fusion, relevance, thresholds, diversity.

Takes scored candidates and returns them ranked, with the reason why some were dropped. Plain Python
with NumPy: may import retrieval's values and candidates.bm25.
"""
