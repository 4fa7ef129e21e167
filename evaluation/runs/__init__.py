"""Evaluation runs: search every query of a golden set, measure, compare, and gate.

In: a golden set and options. Out: a run with its measures. May import retrieval, documents and the
other packages of evaluation except its API, admin and commands.
"""
