"""Evaluation runs: search every query of a golden set, measure, compare, and gate.

In: a golden set and the options of a search. Out: a stored run with a score for each query,
comparisons of two runs, and gates. May import golden, measures, models, retrieval and documents;
never reports, experiments, or the API, admin and commands.
"""
