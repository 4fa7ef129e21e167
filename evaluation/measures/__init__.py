"""Measures of rankings and answers.

In: judgements and what the search found, as plain values. Out: figures. Plain Python that imports
nothing of ours but itself.
"""
