"""Golden sets: queries with judgements of what is relevant.

In: files, manual edits, users' feedback. Out: golden sets in the database, and exports. May import
the models, measures, `documents` and `retrieval`; never runs or reports.
"""
