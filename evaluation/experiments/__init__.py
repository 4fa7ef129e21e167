"""Experiments: ablations, recall of vector indexes, two profiles side by side.

In: a namespace with a golden set. Out: results for a report; copies of documents that an experiment
needs are deleted when it ends. May import runs, measures, models, `retrieval` and `documents`.
"""
