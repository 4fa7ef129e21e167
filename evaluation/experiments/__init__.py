"""Experiments: ablations, recall of vector indexes, two profiles side by side.

In: a namespace with a golden set. Out: results for a report. Copies of documents are deleted when
an experiment ends. May import runs, measures, models, `retrieval` and `documents`.
"""
