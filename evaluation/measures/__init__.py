"""Measures of rankings and answers.

In: judgements and search results, as plain values. Out: figures. Plain Python that imports nothing
else of ours.
"""
