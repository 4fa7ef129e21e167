"""Feedback on answers from the ask page. Thin views that call evaluation.golden.

In: clicks of people who are signed in. Out: stored feedback. May import documents.pages,
evaluation.api and evaluation.golden.
"""
