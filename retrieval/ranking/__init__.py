"""From candidates to an order: fusion, relevance, thresholds, diversity.

In: scored candidates. Out: the same candidates, ranked, with the reason why some were dropped. Pure
Python and NumPy: imports retrieval's values, no Django and no database.
"""
