"""What stands between a writer and the client: markers, quotes, citations, support.

In: text as it is written, and the evidence. Out: text that may leave, with exact citations. Plain
Python.
"""
