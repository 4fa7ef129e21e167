"""Golden sets: queries with judgements of what is relevant.

In: files, edits by hand, users' feedback. Out: rows of golden sets, and exports of them. May import
the models, measures, `documents` and `retrieval`; never runs or reports.
"""
