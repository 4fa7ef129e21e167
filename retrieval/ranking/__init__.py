"""From candidates to an order: fusion, relevance, diversity. Plain Python.

In: scored candidates. Out: the same candidates, ranked, with why some were dropped.
"""
