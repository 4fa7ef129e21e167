"""Find numbers and dates in answers and passages, compare them, and report conflicts.

Plain Python.
"""
