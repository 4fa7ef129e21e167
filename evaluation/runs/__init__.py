"""Runs: every query of a golden set through the search, measured.

In: a golden set and the options of a search. Out: a stored run with a score for each query,
comparisons of two runs, and gates. May import golden, measures, models and `retrieval`; never
reports or experiments.
"""
