"""Numbers and dates in answers and passages: read, compared, and where they disagree.

Plain Python.
"""
